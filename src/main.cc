#include <string>
#include <vector>

#include "cli/app.h"
#include "cli/context.h"

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + (argc > 0 ? 1 : 0), argv + argc);
  rota::cli::Context context = rota::cli::process_context();
  return rota::cli::run_program(args, context);
}
