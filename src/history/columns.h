// Names and lists of nodes of a history as dense numbers, for those who measure one.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "history/history.h"

namespace rota::history {

/// Numbers the names that one column uses, as they are first met, and adds them to `names`, whose
/// first is there already and is the empty one. Both must outlive it. O(1) a name.
class NameColumn {
 public:
  NameColumn(const JobHistory& history, std::vector<std::string>& names)
      : history_(history), names_(names), numbers_(history.names().size(), 0) {}

  /// Its place in `names`; 0: the empty name, which the source does not tell.
  std::uint32_t number(Name name);

 private:
  const JobHistory& history_;
  std::vector<std::string>& names_;
  std::vector<std::uint32_t> numbers_;  // by the name's number; 0: not met
};

/// Reads each list of nodes once: `h[1-2]`, `n1,n2`, `n1+n2`. A text that is no list is the name of
/// one node. `nodes` gets their names and `lists` the places of a text's nodes in it; the first
/// list is there already and is empty. All must outlive it.
class NodeLists {
 public:
  NodeLists(const JobHistory& history, std::vector<std::string>& nodes,
            std::vector<std::vector<std::uint32_t>>& lists)
      : history_(history), nodes_(nodes), lists_(lists), numbers_(history.names().size(), 0) {}

  /// Its place in `lists`; 0: no node is told. O(1) for a text that was met before.
  std::uint32_t number(Name text);

 private:
  std::uint32_t node(const std::string& name);

  const JobHistory& history_;
  std::vector<std::string>& nodes_;
  std::vector<std::vector<std::uint32_t>>& lists_;
  std::vector<std::uint32_t> numbers_;  // by the text's number; 0: not met
  std::map<std::string, std::uint32_t> by_name_;
};

}  // namespace rota::history
