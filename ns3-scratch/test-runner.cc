// SPDX-License-Identifier: GPL-2.0-only
/**
 * \file
 * Runs this project's test suites, those whose names begin with "astra-", each through ns-3's own
 * TestRunner.
 *
 *     astra-ns3-test-runner [--list] [--quick] [--verbose] [SUITE...]
 *
 * One line a suite, more where something failed, and at the end how many passed; exit status 0 if
 * all did. --quick plays a part of the random cases.
 */
#include "ns3/nstime.h"
#include "ns3/simulator.h"
#include "ns3/test.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace
{
const std::string SUITE_PREFIX = "astra-";
constexpr const char* STARTED = "ASTRA_NS3_TEST_RUNNER_STARTED"; // in the environment
// Which cases are played. With every call: ns-3's runner forgets for good what one call leaves out.
std::string g_fullness = "--fullness=EXTENSIVE";

/// \return exit status of ns-3's runner called with these arguments
int
CallNs3Runner(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "astra-ns3-test-runner");
    std::vector<char*> pointers;
    for (auto& argument : arguments)
    {
        pointers.push_back(argument.data());
    }
    pointers.push_back(nullptr);
    return ns3::TestRunner::Run(static_cast<int>(arguments.size()), pointers.data());
}

/// \return names of this project's suites, in alphabetical order
std::vector<std::string>
ListSuites()
{
    std::ostringstream printed;
    std::streambuf* const screen = std::cout.rdbuf(printed.rdbuf());
    CallNs3Runner({"--list", g_fullness});
    std::cout.rdbuf(screen);
    std::vector<std::string> names;
    std::istringstream lines(printed.str());
    for (std::string name; lines >> name;)
    {
        if (name.starts_with(SUITE_PREFIX))
        {
            names.push_back(name);
        }
    }
    std::sort(names.begin(), names.end());
    return names;
}

/// A folder for the files of the tests, removed with everything in it at the end.
class TemporaryFolder
{
  public:
    TemporaryFolder()
    {
        std::string pattern =
            (std::filesystem::temp_directory_path() / "astra-ns3-test-XXXXXX").string();
        if (mkdtemp(pattern.data()) == nullptr)
        {
            throw std::filesystem::filesystem_error("can't make a folder", pattern, {});
        }
        m_path = pattern;
    }

    ~TemporaryFolder()
    {
        std::error_code ignored;
        std::filesystem::remove_all(m_path, ignored);
    }

    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    /// \return its path
    std::string GetPath() const
    {
        return m_path.string();
    }

  private:
    std::filesystem::path m_path; //!< the folder
};

/// \return whether a suite passed. \param name its name \param options further ones for ns-3's
/// runner
bool
RunSuite(const std::string& name, std::vector<std::string> options)
{
    options.push_back("--test-name=" + name);
    options.push_back(g_fullness);
    try
    {
        return CallNs3Runner(options) == 0;
    }
    catch (const std::exception& error)
    {
        std::cout << "FAIL " << name << ": an exception came out: " << error.what() << std::endl;
        ns3::Simulator::Destroy();
        return false;
    }
}
} // namespace

int
main(int argc, char* argv[])
{
    // Ports need our simulator. ns-3's runner resets what is set later than the start of the
    // process.
    if (setenv("NS_GLOBAL_VALUE", "SimulatorImplementationType=ns3::FabricSimulator", 0) != 0 ||
        (!std::getenv(STARTED) && (setenv(STARTED, "1", 1) != 0 || execv(argv[0], argv) != 0)))
    {
        std::perror("astra-ns3-test-runner");
        return EXIT_FAILURE;
    }
    ns3::Time::SetResolution(ns3::Time::PS);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    if (std::find(arguments.begin(), arguments.end(), "--quick") != arguments.end())
    {
        g_fullness = "--fullness=QUICK";
    }
    const std::vector<std::string> known = ListSuites();
    const TemporaryFolder folder;
    std::vector<std::string> options{"--tempdir=" + folder.GetPath()};
    std::vector<std::string> wanted;
    for (const std::string& argument : arguments)
    {
        if (argument == "--list")
        {
            std::copy(known.begin(),
                      known.end(),
                      std::ostream_iterator<std::string>(std::cout, "\n"));
            return EXIT_SUCCESS;
        }
        if (argument == "--verbose")
        {
            options.push_back(argument);
        }
        else if (argument == "--quick")
        {
            continue; // heard already
        }
        else if (std::find(known.begin(), known.end(), argument) != known.end())
        {
            wanted.push_back(argument);
        }
        else
        {
            std::cerr << argument << " is no suite; --list names them all" << std::endl;
            return 2;
        }
    }
    const auto& suites = wanted.empty() ? known : wanted;
    const auto passed = std::count_if(suites.begin(), suites.end(), [&options](const auto& name) {
        return RunSuite(name, options);
    });
    const auto failed = static_cast<std::ptrdiff_t>(suites.size()) - passed;
    std::cout << passed << " passed, " << failed << " failed" << std::endl;
    return passed > 0 && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
