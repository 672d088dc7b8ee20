import { expect, test } from "bun:test";
import fc from "fast-check";
import { hideCredentials } from "#shared/kit/hide-credentials.ts";
import { describeNetError, shortUrl } from "#worker/browser/fetch/net-errors.ts";

const HIDDEN: [string, string][] = [
  ["https://user:pass@host/a?b=1", "https://***@host/a?b=1"],
  ["http://user@host", "http://***@host"],
  ["http://:pass@host:80/", "http://***@host:80/"],
  ["http://a:p@ss@host/x@y", "http://***@host/x@y"],
  ["postgres://me:hunter2@[::1]:5432/db", "postgres://***@[::1]:5432/db"],
  ["/http://user:pass@host/", "/http://***@host/"],
  ["//http:/user:pass@host/", "//http:/***@host/"],
  ["/http:user:pass@host/", "/http:***@host/"],
  ["/https%3A%2F%2Fuser%3Apass%40host%2Fa", "/https%3A%2F%2F***@host%2Fa"],
  ["http://a%3Fb%2F:%40@host/", "http://***@host/"],
  ["from http://a:b@x/ to http://c:d@y/", "from http://***@x/ to http://***@y/"],
];
for (const [url, text] of HIDDEN)
  test(`${url} is shown as ${text}`, () => {
    expect(hideCredentials(url)).toBe(text);
  });

test("what has no credentials stays as it is", () => {
  for (const url of [
    "https://host/@name",
    "https://host/?mail=a@b",
    "https://host#a@b",
    "http://host/a:/b",
    "/jobs/1/assets/a@2x.png",
    "a@b",
    "",
  ])
    expect(hideCredentials(url)).toBe(url);
});

test("no password of any URL is shown (fast-check)", () => {
  const secret = fc.stringMatching(/^[a-z]{12}$/);
  fc.assert(
    fc.property(fc.webUrl(), secret, fc.string(), (at, password, user) => {
      const url = new URL(at);
      url.username = user;
      url.password = password;
      expect(hideCredentials(url.href)).not.toContain(password);
      expect(hideCredentials(encodeURIComponent(url.href))).not.toContain(password);
    }),
  );
});

test("the sentences of a run show no password, also of a URL that is cut", () => {
  const url = `http://user:pass@host/${"a".repeat(400)}`;
  expect(shortUrl(url)).toStartWith("http://***@host/aaa");
  expect(shortUrl(`http://user:${"p".repeat(400)}@host/`)).toBe("http://***@host/");
  expect(describeNetError("net::ERR_CONNECTION_REFUSED", url)).not.toContain("pass");
});
