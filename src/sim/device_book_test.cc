#include "sim/device_book.h"

#include <gtest/gtest.h>

#include "sim/words.h"

namespace rota::sim {
namespace {

DeviceBook book_of(std::size_t gpus, int slots = 0, bool mig = false) {
  NodeSpec node;
  node.name = "n1";
  node.devices.assign(gpus, DeviceSpec{"a100", gibibytes(40), ""});
  node.slots = slots;
  node.mig = mig;
  DeviceBook book;
  book.add_node(node);
  return book;
}

std::string place(DeviceBook& book, const JobShape& shape) {
  const auto place = book.place_task("n1", shape, 0);
  return place ? devices_words({*place}) : "no room";
}

TEST(DeviceBook, GivesTheLowestFreeIndices) {
  auto book = book_of(4);
  JobShape shape;
  shape.task.gpus = whole_gpus(2);
  EXPECT_EQ(place(book, shape), "n1:0-1");
  EXPECT_EQ(place(book, shape), "n1:2-3");
  EXPECT_EQ(place(book, shape), "no room");
}

TEST(DeviceBook, PutsPartsOnTheFullestDevice) {
  auto book = book_of(2);
  JobShape small;
  small.task.gpus = MilliGpu(400);
  EXPECT_EQ(place(book, small), "n1:0");
  JobShape whole;
  EXPECT_EQ(place(book, whole), "n1:1");
  EXPECT_EQ(place(book, small), "n1:0");
  EXPECT_EQ(place(book, small), "no room");
}

TEST(DeviceBook, CountsTheMemoryOfParts) {
  auto book = book_of(1);
  JobShape shape;
  shape.task.gpus = MilliGpu(100);
  shape.task.gpu_memory = gibibytes(30);
  EXPECT_EQ(place(book, shape), "n1:0");
  EXPECT_EQ(place(book, shape), "no room");
}

TEST(DeviceBook, GivesTimeSlicesAndInstances) {
  auto sliced = book_of(2, 4);
  JobShape slots;
  slots.task.gpus = MilliGpu(0);
  slots.task.slots = 3;
  EXPECT_EQ(place(sliced, slots), "n1:0,n1:0,n1:0");
  slots.task.distinct_devices = 2;
  EXPECT_EQ(place(sliced, slots), "n1:0,n1:1,n1:1");
  auto cut = book_of(1, 0, true);
  JobShape mig;
  mig.task.gpus = MilliGpu(0);
  mig.task.mig = "1g.5gb";
  EXPECT_EQ(place(cut, mig), "n1:0@6");
  EXPECT_EQ(place(cut, mig), "n1:0@4");
}

TEST(DeviceBook, NoticesWhatIsGivenTwice) {
  auto book = book_of(1);
  TaskPlace task;
  task.node = "n1";
  DeviceShare share;
  share.gpus = kWholeGpu;
  task.devices = {share};
  EXPECT_TRUE(book.take({task}).empty());
  EXPECT_EQ(book.take({task}), std::vector<std::string>{"device n1:0 given twice"});
  book.release({task});
  book.release({task});
  EXPECT_TRUE(book.take({task}).empty());
  task.devices[0].device = 5;
  EXPECT_EQ(book.take({task}), std::vector<std::string>{"device n1:5, which does not exist"});
  task.node = "n9";
  EXPECT_EQ(book.take({task}),
            std::vector<std::string>{"a place on node n9, which does not exist"});
}

TEST(DeviceBook, CountsCpusAndMemory) {
  auto book = book_of(0);
  JobShape shape;
  shape.task.gpus = MilliGpu(0);
  shape.task.cpus = 40;
  EXPECT_EQ(place(book, shape), "n1");
  EXPECT_EQ(place(book, shape), "no room");
}

}  // namespace
}  // namespace rota::sim
