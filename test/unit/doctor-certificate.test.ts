import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkCertificate } from "#hub/program/commands/doctor/certificate.ts";
import { trustAuthority } from "#shared/protocol/trust.ts";
import {
  newAuthority,
  type PemFiles,
  type TestAuthority,
} from "#test/support/servers/certificates.ts";

const DAY_MS = 86_400_000;
let dir: string;
let authority: TestAuthority;
let files: PemFiles;
let other: PemFiles;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "flotilla-certificate-"));
  authority = await newAuthority(dir, { days: 400 });
  const names = "DNS:hub1.lan,DNS:*.fleet.lan,IP:10.0.0.11";
  files = await authority.sign("hub", { days: 100, names });
  other = await authority.sign("other");
}, 180_000);
afterAll(() => {
  trustAuthority(null);
  rmSync(dir, { recursive: true, force: true });
});

const look = (fields: Partial<Parameters<typeof checkCertificate>[0]> = {}, in_days = 0) =>
  checkCertificate(
    { tls: files, public_base_url: null, advertise_url: null, ...fields },
    Date.now() + in_days * DAY_MS,
  );

test("doctor reports when the hub's certificate expires: a warning below 21 days, a failure afterwards", () => {
  trustAuthority(authority.ca);
  expect(look()).toMatchObject({ name: "certificate", status: "ok" });
  expect(look().found).toMatch(/hub\.crt: CN=hub, expires in (99|100) days \(/);
  expect(look({}, 77).status).toBe("ok");
  expect(look({}, 81)).toMatchObject({
    status: "warn",
    advice: expect.stringContaining("renew it"),
    found: expect.stringMatching(/expires in 1[89] days/),
  });
  expect(look({}, 102)).toMatchObject({
    status: "fail",
    advice: expect.stringContaining("renew it"),
    found: expect.stringContaining("has expired"),
  });
});

test("doctor reports names that others use and the certificate lacks", () => {
  trustAuthority(authority.ca);
  for (const host of ["hub1.lan", "a.fleet.lan", "10.0.0.11"]) {
    const url = `https://${host}:8000`;
    expect(look({ public_base_url: url, advertise_url: url }).status).toBe("ok");
  }
  expect(look({ public_base_url: "https://flotilla.lan" })).toMatchObject({
    status: "warn",
    advice: expect.stringContaining("unless a router in front of the hub"),
    found: expect.stringMatching(
      /DNS:hub1\.lan.*do not include flotilla\.lan from PUBLIC_BASE_URL/,
    ),
  });
  expect(look({ advertise_url: "https://10.0.0.12:8000" })).toMatchObject({
    status: "fail",
    advice: expect.stringContaining("the other hubs use that name to reach this one"),
    found: expect.stringContaining("do not include 10.0.0.12 from SVC_ADVERTISE_URL"),
  });
  // A router that speaks TLS itself, and reaches the hub as it likes.
  expect(look({ public_base_url: "http://flotilla.lan:8000" }).status).toBe("ok");
});

test("doctor tells files that cannot be used, and a certificate that nobody here trusts", () => {
  trustAuthority(authority.ca);
  expect(look({ tls: { ...files, key: other.key } })).toMatchObject({
    status: "fail",
    found: expect.stringContaining("does not belong to the certificate"),
  });
  expect(look({ tls: { ...files, cert: join(dir, "none") } })).toMatchObject({
    status: "fail",
    found: expect.stringContaining("SVC_TLS_CERT: there is no file"),
  });
  expect(look({ tls: null }).found).toContain("plain HTTP");
  trustAuthority(null);
  expect(look()).toMatchObject({
    status: "warn",
    found: expect.stringContaining("not signed by an authority that this machine trusts"),
    advice: expect.stringContaining("SVC_TLS_CA"),
  });
  trustAuthority(other.cert);
  expect(look().status).toBe("warn");
});
