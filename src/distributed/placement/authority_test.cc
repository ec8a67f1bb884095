// Certificates, verified by the program openssl.

#include "distributed/placement/authority.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>

#include "base/testing/error.h"
#include "base/testing/wait_until.h"
#include "distributed/coordination/etcd_server.h"
#include "distributed/coordination/etcd_store.h"
#include "distributed/coordination/handshakes.h"
#include "distributed/coordination/memory_store.h"
#include "distributed/placement/address.h"
#include "distributed/placement/certificate.h"
#include "distributed/placement/small_file.h"
#include "distributed/placement/testing/folder.h"
#include "distributed/server/parameter_server.h"
#include "distributed/transport/connection.h"
#include "distributed/transport/frame_server.h"

namespace trireme::distributed {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using testing::InFolder;

constexpr std::int64_t kDay = 24 * 3600;

// The output of openssl, and whether it succeeded.
std::string openssl(const std::string& arguments) {
  std::string text;
  std::FILE* pipe = ::popen(("openssl " + arguments + " 2>&1").c_str(), "r");
  char block[1024];
  for (std::size_t n; pipe != nullptr && (n = std::fread(block, 1, sizeof block, pipe)) > 0;) {
    text.append(block, n);
  }
  if (pipe == nullptr || ::pclose(pipe) != 0) text += "FAILED";
  return text;
}

int mode_of(const std::string& path) {
  struct stat status{};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return static_cast<int>(status.st_mode & 0777);
}

class Credentials : public InFolder {
 protected:
  std::string keys() const { return path("keys"); }
  std::int64_t now_ = seconds_since_1970();
};

TEST_F(Credentials, OpensslAgrees) {
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  const std::string at = keys() + "/";
  EXPECT_THAT(openssl("verify -purpose sslserver -verify_hostname trireme-job -CAfile " + at +
                      "ca.crt " + at + "tls.crt"),
              HasSubstr("OK"));
  EXPECT_THAT(openssl("verify -purpose sslclient -CAfile " + at + "ca.crt " + at + "tls.crt"),
              HasSubstr("OK"));
  EXPECT_THAT(openssl("verify -verify_hostname n1 -CAfile " + at + "ca.crt " + at + "tls.crt"),
              HasSubstr("FAILED"));
  const std::string text = openssl("x509 -noout -text -in " + at + "tls.crt");
  EXPECT_THAT(text, HasSubstr("NIST CURVE: P-256"));
  EXPECT_THAT(text, HasSubstr("ecdsa-with-SHA256"));
  EXPECT_THAT(text, HasSubstr("CA:FALSE"));
  EXPECT_THAT(text, HasSubstr("DNS:trireme-job"));
  EXPECT_THAT(openssl("x509 -noout -text -in " + at + "ca.crt"), HasSubstr("CA:TRUE, pathlen:0"));
  EXPECT_THAT(openssl("x509 -noout -checkend 2591000 -in " + at + "tls.crt"),
              HasSubstr("not expire"));
  EXPECT_THAT(openssl("x509 -noout -checkend 2593000 -in " + at + "tls.crt"), HasSubstr("FAILED"));
}

TEST_F(Credentials, ForTheirOwnerAlone) {
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  EXPECT_EQ(mode_of(keys()), 0700);
  for (const char* name : {"/ca.crt", "/tls.crt", "/tls.key", "/master.key", "/server.crt",
                           "/server.key", "/trainer.key"}) {
    EXPECT_EQ(mode_of(keys() + name), 0600);
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(keys()), fs::directory_iterator()), 9)
      << "not the authority's key, and nothing on the way";
  ::chmod((keys() + "/tls.key").c_str(), 0640);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("others may read this key (its mode is 640)"));
  ::chmod((keys() + "/tls.key").c_str(), 0400);
  EXPECT_EQ(read_credentials(keys(), now_).name, "trireme-job");
}

// A user who can write files there could replace the certificates.
TEST_F(Credentials, InAFolderOfOursAlone) {
  fs::create_directory(keys());
  for (const int mode : {0777, 0770, 0722}) {
    ::chmod(keys().c_str(), static_cast<mode_t>(mode));
    EXPECT_THAT(
        error_of(ErrorKind::usage, [&] { write_credentials(keys(), make_credentials(30, now_)); }),
        AllOf(HasSubstr("others may write there"), HasSubstr("chmod 700 " + keys())));
    EXPECT_THAT(
        error_of(ErrorKind::usage, [&] { obtain_credentials(keys(), true, Milliseconds(0)); }),
        HasSubstr("others may write there"));
  }
  EXPECT_TRUE(fs::is_empty(keys()));
  ::chmod(keys().c_str(), 0755);
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  EXPECT_NO_THROW(read_credentials(keys(), now_));
  ::chmod(keys().c_str(), 0775);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("others may write there (its mode is 775)"));
  ::chmod(keys().c_str(), 0700);
  ::chmod((keys() + "/ca.crt").c_str(), 0666);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("ca.crt: others may write it (its mode is 666)"));
  ::chmod((keys() + "/ca.crt").c_str(), 0644);
  EXPECT_NO_THROW(read_credentials(keys(), now_));
}

// Only root can make files of another user.
TEST_F(Credentials, OfNobodyElse) {
  if (::geteuid() != 0) GTEST_SKIP() << "files of other users are made by root alone";
  constexpr uid_t kOther = 12345;
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  const auto refused = [&] {
    return error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); });
  };
  ASSERT_EQ(::chown(keys().c_str(), kOther, kOther), 0);
  EXPECT_THAT(refused(), HasSubstr("keys: the folder is user 12345's"));
  EXPECT_THAT(
      error_of(ErrorKind::usage, [&] { write_credentials(keys(), make_credentials(30, now_)); }),
      HasSubstr("the folder is user 12345's"));
  ASSERT_EQ(::chown(keys().c_str(), 0, 0), 0);
  for (const int mode : {0640, 0440, 0600}) {
    const std::string key = keys() + "/tls.key";
    ASSERT_EQ(::chown(key.c_str(), kOther, kOther), 0);
    ::chmod(key.c_str(), static_cast<mode_t>(mode));
    EXPECT_THAT(refused(), HasSubstr("tls.key: it is user 12345's"));
    ASSERT_EQ(::chown(key.c_str(), 0, 0), 0);
  }
  ::chmod((keys() + "/tls.key").c_str(), 0400);
  EXPECT_NO_THROW(read_credentials(keys(), now_));
  ASSERT_EQ(::lchown((keys() + "/ca.crt").c_str(), kOther, kOther), 0);
  EXPECT_THAT(refused(), HasSubstr("ca.crt: it is user 12345's"));
}

// As Kubernetes mounts a Secret with defaultMode 0440 for pods without root: links into a folder of
// root, in a folder that all may write to, with the sticky bit.
TEST_F(Credentials, OfASecretThatRootHasMounted) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be another user for a while";
  constexpr uid_t kPod = 65532;
  ::chmod(folder_.path().c_str(), 0755);
  ASSERT_TRUE(write_credentials(path("made"), make_credentials(30, now_)));
  const std::string data = keys() + "/..2024_11_24";
  fs::create_directories(data);
  ::chmod(keys().c_str(), 01777);
  fs::create_directory_symlink("..2024_11_24", keys() + "/..data");
  for (const std::string name : {"ca.crt", "tls.crt", "tls.key"}) {
    fs::copy_file(path("made/" + name), data + "/" + name);
    ASSERT_EQ(::chown((data + "/" + name).c_str(), 0, kPod), 0);
    ::chmod((data + "/" + name).c_str(), 0440);
    fs::create_symlink("..data/" + name, keys() + "/" + name);
  }
  const auto as_pod = [&](const auto& body) {
    const gid_t group = ::getegid();
    EXPECT_EQ(::setegid(kPod), 0);
    EXPECT_EQ(::seteuid(kPod), 0);
    body();
    EXPECT_EQ(::seteuid(0), 0);
    EXPECT_EQ(::setegid(group), 0);
  };
  as_pod([&] { EXPECT_EQ(read_credentials(keys(), now_).name, "trireme-job"); });
  ::chmod((data + "/tls.key").c_str(), 0444);
  as_pod([&] {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
                HasSubstr("others may read this key (its mode is 444)"));
  });
  // A link of another user in that folder.
  ::chmod((data + "/tls.key").c_str(), 0440);
  ASSERT_EQ(::lchown((keys() + "/tls.crt").c_str(), 12345, 12345), 0);
  as_pod([&] {
    EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
                HasSubstr("tls.crt: it is user 12345's"));
  });
}

TEST_F(Credentials, WhatIsThereStays) {
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  const std::string before = read_credentials(keys(), now_).certificate;
  EXPECT_FALSE(write_credentials(keys(), make_credentials(30, now_)));
  EXPECT_EQ(read_credentials(keys(), now_).certificate, before);
  EXPECT_EQ(obtain_credentials(keys(), true, Milliseconds(0)).certificate, before);
}

TEST_F(Credentials, TimeAndBelonging) {
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  EXPECT_NO_THROW(read_credentials(keys(), now_ + 29 * kDay));
  EXPECT_NO_THROW(read_credentials(keys(), now_ - 1800)) << "clocks differ";
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_ + 31 * kDay); }),
              HasSubstr("the certificates expired at "));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_ - kDay); }),
              HasSubstr("are not valid before"));
  const Security others = make_credentials(30, now_);
  replace_small_file(keys() + "/ca.crt", others.authority);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("tls.crt is not signed by ca.crt"));
  replace_small_file(keys() + "/tls.key", others.key);
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("tls.key is not the key of tls.crt"));
  replace_small_file(keys() + "/tls.crt", "-----BEGIN CERTIFICATE-----\nAAAA\n");
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_credentials(keys(), now_); }),
              HasSubstr("tls.crt is no certificate"));
  fs::remove(keys() + "/tls.crt");
  EXPECT_THAT(error_of(ErrorKind::not_found, [&] { read_credentials(keys(), now_); }),
              HasSubstr("tls.crt"));
}

TEST_F(Credentials, OneMakesThemAndAllHaveTheSame) {
  std::vector<std::future<Security>> all;
  for (int i = 0; i < 6; ++i) {
    all.push_back(std::async(std::launch::async, [&, i] {
      return obtain_credentials(keys(), i < 4, Milliseconds(60000));
    }));
  }
  const std::string key = all[0].get().key;
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].get().key, key);
}

TEST_F(Credentials, NobodyMakesThem) {
  EXPECT_THAT(
      error_of(ErrorKind::io, [&] { obtain_credentials(keys(), false, Milliseconds(150)); }),
      HasSubstr("must be a folder that all machines of the job share"));
  EXPECT_THAT(error_of([&] { obtain_credentials(path("no/keys"), true, Milliseconds(0)); }),
              HasSubstr("cannot be made"));
}

// --- In use

// Whether a client with `theirs` gets an answer from a server with `ours`: of the store, and of
// frames. A refusal takes until `patience` ends.
std::pair<bool, bool> admitted(const Security& ours, const Security& theirs,
                               Milliseconds patience = Milliseconds(400)) {
  const auto store = make_memory_store();
  const EtcdServer server(*store, {.security = ours});
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  const auto client = connect_etcd({.address = address, .timeout = patience, .security = theirs});
  std::pair<bool, bool> result;
  try {
    client->put("a", "b");
    result.first = true;
  } catch (const Error&) {
  }
  FrameServer frames({.security = ours}, [](const Peer&, Frame request, Answer& answer) {
    answer(std::move(request));
  });
  Network network;
  try {
    Connection connection(
        network, {.address = "127.0.0.1:" + std::to_string(frames.port()), .security = theirs});
    connection.ask(Frame{}, in(patience));
    result.second = true;
  } catch (const Error&) {
  }
  return result;
}

constexpr std::pair<bool, bool> kBoth{true, true}, kNeither{false, false};

TEST_F(Credentials, OthersAreRefused) {
  const Security ours = make_credentials(30, now_);
  EXPECT_EQ(admitted(ours, ours, Milliseconds(60000)), kBoth);
  EXPECT_EQ(admitted(ours, make_credentials(30, now_)), kNeither) << "another authority";
  Security mixed = make_credentials(30, now_);
  mixed.authority = ours.authority;
  EXPECT_EQ(admitted(ours, mixed), kNeither) << "believes us, but is of another authority";
  EXPECT_EQ(admitted(ours, {.token = "t"}), kNeither) << "not encrypted";
}

// Both sides are in this process. A caller without TLS, and one that learns too late that its
// certificate is refused, have no handshake that could fail.
TEST_F(Credentials, OthersAreCounted) {
  const Security ours = make_credentials(30, now_);
  Security mixed = make_credentials(30, now_);
  mixed.authority = ours.authority;
  for (const Security& theirs : {mixed, Security{.token = "t"}}) {
    const std::uint64_t before = failed_handshakes();
    EXPECT_EQ(admitted(ours, theirs), kNeither);
    EXPECT_GE(failed_handshakes(), before + 2) << "of the store, and of frames";
  }
  const std::uint64_t before = failed_handshakes();
  EXPECT_EQ(admitted(ours, ours, Milliseconds(60000)), kBoth);
  EXPECT_EQ(failed_handshakes(), before);
}

TEST_F(Credentials, ExpiredOnesAreRefused) {
  const Security old = make_credentials(1, now_ - 3 * kDay);
  EXPECT_EQ(admitted(old, old), kNeither);
}

TEST_F(Credentials, OfEtcd) {
  ASSERT_TRUE(write_credentials(keys(), make_credentials(30, now_)));
  EXPECT_EQ(read_etcd_credentials(keys(), now_).name, "trireme-job");
  // Credentials of a site: names are addresses, and the authority of etcd may differ from ours.
  replace_small_file(keys() + "/ca.crt", make_credentials(30, now_).authority);
  EXPECT_NO_THROW(read_etcd_credentials(keys(), now_));
  EXPECT_THAT(error_of(ErrorKind::usage, [&] { read_etcd_credentials(keys(), now_ + 40 * kDay); }),
              HasSubstr("expired"));
}

// Fault 21: one certificate for all roles let any trainer give the orders of the leader.
TEST(Roles, ATrainerGivesNoOrdersOfTheLeader) {
  const JobCredentials keys = make_credentials(30, seconds_since_1970());
  ParameterServer server(
      {.transport = {.address = "127.0.0.1:0", .security = keys.roles.at("server")}});
  Network network;
  const auto ask = [&](const Security& security, Op op) {
    Connection connection(network, {.address = "127.0.0.1:" + std::to_string(server.port()),
                                    .service = kParameterService,
                                    .security = security});
    Frame request;
    request.header.op = static_cast<std::uint8_t>(op);
    request.header.sequence = 1'000'000'000;  // the epoch of a leadership
    if (op == Op::set_map) request.payload = Payload(SlotMap::balanced(1).to_bytes());
    return connection.ask(std::move(request), in(Milliseconds(60000)));
  };
  for (const Op op : {Op::set_map, Op::set_members, Op::drop_slots, Op::dense_drop, Op::tasks_over,
                      Op::save, Op::load, Op::tick, Op::export_rows, Op::read_slots}) {
    for (const char* role : {"trainer", "server"}) {
      const Frame answer = ask(keys.roles.at(role), op);
      EXPECT_EQ(answer.header.code, Code::refused) << name_of(op);
      EXPECT_THAT(answer.payload.text(),
                  HasSubstr(std::string("a ") + role + " may not request " + name_of(op)));
    }
  }
  EXPECT_EQ(server.shard().map().version(), 0u);
  EXPECT_EQ(ask(keys.roles.at("trainer"), Op::statistics).header.code, Code::ok);
  EXPECT_EQ(ask(keys.roles.at("master"), Op::set_map).header.code, Code::ok);
  EXPECT_EQ(ask(keys, Op::set_map).header.code, Code::ok) << "of a launcher";
}

TEST_F(Credentials, AProcessTakesThoseOfItsRole) {
  const JobCredentials made = make_credentials(30, now_);
  ASSERT_TRUE(write_credentials(keys(), made));
  EXPECT_EQ(read_credentials(keys(), now_).certificate, made.certificate);
  for (const char* role : kRoles) {
    const Security own = read_credentials(keys(), now_, role);
    EXPECT_EQ(own.certificate, made.roles.at(role).certificate);
    EXPECT_TRUE(has_name(own, kCertificateName));
    EXPECT_TRUE(has_name(own, name_of_role(role)));
    EXPECT_FALSE(has_name(own, name_of_role("other")));
  }
  EXPECT_FALSE(has_name(made, name_of_role("trainer")));
  fs::remove(keys() + "/trainer.key");  // a folder of an earlier version
  EXPECT_EQ(read_credentials(keys(), now_, "trainer").certificate, made.certificate);
}

// Sends a text that is no handshake, and waits until the server closes the connection.
void send_text(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  const std::string text = "a line of text that is long enough for a handshake, but is none\r\n";
  EXPECT_GT(::send(socket, text.data(), text.size(), MSG_NOSIGNAL), 0);
  pollfd file{socket, POLLIN, 0};
  char answer[256];
  while (::poll(&file, 1, 60000) == 1 && ::recv(socket, answer, sizeof answer, 0) > 0) {
  }
  ::close(socket);
}

// Anybody who reaches a port can make handshakes fail, as often as the network allows.
TEST(Handshakes, ThatFailAreFewLines) {
  constexpr int kAttempts = 30;
  const JobCredentials keys = make_credentials(30, seconds_since_1970());
  const FrameServer server({.address = "127.0.0.1:0", .security = keys.roles.at("server")},
                           [](const Peer&, Frame, Answer&) {});
  const std::uint64_t before = failed_handshakes();
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < kAttempts; ++i) send_text(server.port());
  EXPECT_TRUE(wait_until([&] { return failed_handshakes() >= before + kAttempts; }));
  const std::string lines = ::testing::internal::GetCapturedStderr();
  // One line in 10 s: more than one only on a machine that is very slow.
  EXPECT_LE(std::count(lines.begin(), lines.end(), '\n'), 10) << lines;
}

}  // namespace
}  // namespace trireme::distributed
