// One callable of several, for std::visit: the overload that fits is called.
#pragma once

namespace rota {

template <class... Visitors>
struct Overload : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overload(Visitors...) -> Overload<Visitors...>;

}  // namespace rota
