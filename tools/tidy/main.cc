// rota-tidy [ROOT]: checks every file of the project below ROOT (default: here).
// Exit: 0 clean (warnings allowed), 1 findings, 2 could not run.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include "tools/tidy/rules.h"

namespace {

namespace fs = std::filesystem;

bool is_skipped_folder(const fs::path& folder) {
  const std::string name = folder.filename().string();
  return name == ".git" || name == ".cache" || name == "build" || name == "node_modules" ||
         name == "corpus" || name == "shared";
}

bool is_checked_file(const fs::path& file) {
  const std::string extension = file.extension().string();
  for (const char* known : {".cc", ".h", ".sh", ".md", ".cmake", ".scenario", ".yaml", ".yml",
                            ".json", ".js", ".css", ".html"}) {
    if (extension == known) return true;
  }
  const std::string name = file.filename().string();
  return name == "CMakeLists.txt" || name == "rota-dev" || name == "run";
}

std::string read_text(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

std::vector<fs::path> list_files(const fs::path& root) {
  std::vector<fs::path> files;
  for (auto it = fs::recursive_directory_iterator(root); it != fs::end(it); ++it) {
    if (it->is_directory() && is_skipped_folder(it->path())) {
      it.disable_recursion_pending();
    } else if (it->is_regular_file() && is_checked_file(it->path())) {
      files.push_back(it->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) try {
  const fs::path root = argc > 1 ? argv[1] : ".";
  const rota::tidy::Layers layers = rota::tidy::read_layers(read_text(root / "CMakeLists.txt"));
  if (layers.modules.empty()) {
    std::cerr << "rota-tidy: no rota_module() in " << (root / "CMakeLists.txt").string()
              << "; pass the root of the project as the argument\n";
    return 2;
  }
  std::size_t errors = 0;
  const std::vector<fs::path> files = list_files(root);
  for (const fs::path& file : files) {
    const std::string path = file.lexically_relative(root).generic_string();
    for (const auto& finding : rota::tidy::check_file({path, read_text(file)}, layers)) {
      std::cout << to_string(finding) << '\n';
      if (finding.severity == rota::tidy::Severity::kError) ++errors;
    }
  }
  std::cout << "rota-tidy: " << files.size() << " files, " << errors << " errors\n";
  return errors == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "rota-tidy: " << error.what() << '\n';
  return 2;
}
