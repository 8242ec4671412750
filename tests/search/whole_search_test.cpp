// A whole search by the built-in agent, evaluated for real, with every record checked at the end.
#include <gmock/gmock.h>

#include "src/agent/builtin.h"
#include "src/search/verify.h"
#include "tests/search/scripted_agent.h"
#include "tests/search/small_search.h"
#include "tests/search/worker_main.h"

namespace tik::search::test {
namespace {

using WholeSearch = SmallSearch;

// Stops a run after so many audits.
class UntilAudits : public SilentObserver {
 public:
  explicit UntilAudits(int audits) : left_(audits) {}
  void audited(ir::Audit const&, State const&, bool) override { cancel = --left_ <= 0; }
  std::atomic<bool> cancel = false;

 private:
  int left_;
};

TEST_F(WholeSearch, BuiltInAgentFindsAFasterVerifiedImplementation) {
  auto const agent = agent::make_builtin_agent(1);
  UntilAudits observer(8);
  Search search = open();
  auto const reason = search.run(*agent, observer, observer.cancel);
  ASSERT_TRUE(reason) << reason.error().message;
  EXPECT_EQ(search.state().steps, 8);
  EXPECT_GT(search.state().promotions.size(), 1u);
  EXPECT_GT(search.state().speedup(), 1.2);
  auto const verification = verify(folder());
  ASSERT_TRUE(verification);
  for (ir::Finding const& finding : verification->findings) ADD_FAILURE() << finding.place << ": " << finding.sentence;
}

TEST_F(WholeSearch, ResumedByAFreshAgentGoesOnWhereItStopped) {
  for (int part = 0; part < 2; ++part) {
    auto const agent = agent::make_builtin_agent(1);
    UntilAudits observer(2);
    Search search = open();
    auto const reason = search.run(*agent, observer, observer.cancel);
    ASSERT_TRUE(reason) << reason.error().message;
    EXPECT_EQ(search.state().steps, 2 * (part + 1));
  }
  EXPECT_TRUE(verify(folder())->findings.empty());
}

} // namespace
} // namespace tik::search::test
