#include "distributed/placement/certificate.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <memory>

#include "base/error.h"

namespace trireme::distributed {
namespace {

template <auto free>
struct Freed {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Text = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Extension = std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>>;

void must(bool done) {
  if (done) return;
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  fail_internal(std::string("a certificate cannot be made: ") + text.data());
}

std::string content_of(const Text& text) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(text.get(), &data);
  return {data, static_cast<std::size_t>(std::max(size, 0L))};
}

void add_extension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1);
}

// Without extensions and signature.
Certificate blank(const std::string& name, EVP_PKEY* key, std::int64_t begins,
                  std::int64_t expires) {
  Certificate made(X509_new());
  must(made != nullptr);
  std::array<unsigned char, 16> serial{};
  must(RAND_bytes(serial.data(), serial.size()) == 1);
  serial[0] &= 0x7f;  // positive
  serial[0] |= 0x40;
  BIGNUM* const number = BN_bin2bn(serial.data(), serial.size(), nullptr);
  const bool numbered =
      number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(made.get())) != nullptr;
  BN_free(number);
  must(numbered);
  X509_NAME* const subject = X509_get_subject_name(made.get());
  must(
      X509_set_version(made.get(), X509_VERSION_3) == 1 &&
      ASN1_TIME_set(X509_getm_notBefore(made.get()), static_cast<std::time_t>(begins)) != nullptr &&
      ASN1_TIME_set(X509_getm_notAfter(made.get()), static_cast<std::time_t>(expires)) != nullptr &&
      X509_set_pubkey(made.get(), key) == 1 &&
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                 reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1,
                                 0) == 1);
  return made;
}

void sign(X509* certificate, X509* issuer, EVP_PKEY* key) {
  must(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1 &&
       X509_sign(certificate, key, EVP_sha256()) > 0);
}

std::string pem_of(X509* certificate) {
  const Text text(BIO_new(BIO_s_mem()));
  must(text != nullptr && PEM_write_bio_X509(text.get(), certificate) == 1);
  return content_of(text);
}

std::string pem_of(EVP_PKEY* key) {
  const Text text(BIO_new(BIO_s_secmem()));
  must(text != nullptr &&
       PEM_write_bio_PKCS8PrivateKey(text.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1);
  return content_of(text);
}

Text reader_of(const std::string& pem) {
  return Text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Certificate certificate_of(const std::string& pem, const std::string& what) {
  const Text text = reader_of(pem);
  Certificate certificate(PEM_read_bio_X509(text.get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  if (certificate == nullptr) fail_usage(what + " is no certificate (PEM)");
  return certificate;
}

// For an encrypted key: does not ask for the password.
int no_password(char*, int, int, void*) { return 0; }

std::int64_t seconds_of(const ASN1_TIME* time) {
  std::tm parts{};
  return ASN1_TIME_to_tm(time, &parts) == 1 ? static_cast<std::int64_t>(::timegm(&parts)) : 0;
}

}  // namespace

std::vector<Security> make_certificates(const std::vector<std::vector<std::string>>& names,
                                        std::int64_t begins, std::int64_t expires) {
  const Key authority_key(EVP_EC_gen("P-256"));
  must(authority_key != nullptr);
  const std::string authority_name = names.at(0).at(0) + "-authority";
  const Certificate authority = blank(authority_name, authority_key.get(), begins, expires);
  X509* const ca = authority.get();
  add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0");
  add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(ca, ca, NID_subject_key_identifier, "hash");
  sign(ca, ca, authority_key.get());

  std::vector<Security> made;
  for (const std::vector<std::string>& own_names : names) {
    const Key key(EVP_EC_gen("P-256"));
    must(key != nullptr);
    const Certificate own = blank(own_names.at(0), key.get(), begins, expires);
    std::string alternatives;
    for (const std::string& name : own_names) {
      alternatives += (alternatives.empty() ? "DNS:" : ",DNS:") + name;
    }
    add_extension(own.get(), ca, NID_basic_constraints, "critical,CA:FALSE");
    add_extension(own.get(), ca, NID_key_usage, "critical,digitalSignature");
    add_extension(own.get(), ca, NID_ext_key_usage, "serverAuth,clientAuth");
    add_extension(own.get(), ca, NID_subject_alt_name, alternatives);
    add_extension(own.get(), ca, NID_subject_key_identifier, "hash");
    add_extension(own.get(), ca, NID_authority_key_identifier, "keyid");
    sign(own.get(), ca, authority_key.get());
    made.push_back(
        {.authority = pem_of(ca), .certificate = pem_of(own.get()), .key = pem_of(key.get())});
  }
  return made;
}

CertificateFacts facts_of(const Security& security, const std::string& where) {
  const Certificate authority = certificate_of(security.authority, where + ": ca.crt");
  const Certificate own = certificate_of(security.certificate, where + ": tls.crt");
  const Text text = reader_of(security.key);
  const Key key(PEM_read_bio_PrivateKey(text.get(), nullptr, no_password, nullptr));
  if (key == nullptr) {
    ERR_clear_error();
    fail_usage(where + ": tls.key is no private key (PEM, without a password)");
  }
  CertificateFacts facts;
  const Key authority_key(X509_get_pubkey(authority.get()));
  facts.signed_by_authority =
      authority_key != nullptr && X509_verify(own.get(), authority_key.get()) == 1;
  facts.key_fits = X509_check_private_key(own.get(), key.get()) == 1;
  ERR_clear_error();
  facts.begins = std::max(seconds_of(X509_get0_notBefore(own.get())),
                          seconds_of(X509_get0_notBefore(authority.get())));
  facts.expires = std::min(seconds_of(X509_get0_notAfter(own.get())),
                           seconds_of(X509_get0_notAfter(authority.get())));
  return facts;
}

bool has_name(const Security& security, const std::string& name) {
  const Certificate own = certificate_of(security.certificate, "tls.crt");
  return X509_check_host(own.get(), name.data(), name.size(), 0, nullptr) == 1;
}

std::string time_text(std::int64_t seconds) {
  const std::time_t time = static_cast<std::time_t>(seconds);
  std::tm parts{};
  ::gmtime_r(&time, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", &parts);
  return text.data();
}

}  // namespace trireme::distributed
