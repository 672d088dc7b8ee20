import { expect, test } from "bun:test";
import { sentAs } from "#worker/browser/person/sent-headers.ts";

/** Requests that begin before their window can be told its options (rules/browser-options#where-they-hold). */

const SENT = {
  "User-Agent": "own",
  Accept: "text/html",
  "sec-ch-ua": "own",
  "sec-ch-ua-mobile": "?0",
  "sec-ch-ua-platform": '"Linux"',
};
const PIXEL =
  "Mozilla/5.0 (Linux; Android 14; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/149.0.0.0 Mobile Safari/537.36";
const sent = (options: object) =>
  Object.fromEntries(
    sentAs(SENT, options, "Chrome/156.0.1.2").map(({ name, value }) => [name, value]),
  );

test("a request is given name, hints, language and headers of the options, each once", () => {
  expect(
    sent({
      user_agent: PIXEL,
      locale: "de-DE",
      extra_headers: { "X-Team": "blue", accept: "*/*" },
    }),
  ).toEqual({
    "User-Agent": PIXEL,
    accept: "*/*",
    "sec-ch-ua": expect.stringContaining('"Google Chrome";v="149"'),
    "sec-ch-ua-mobile": "?1",
    "sec-ch-ua-platform": '"Android"',
    "Accept-Language": "de-DE,de;q=0.9",
    "X-Team": "blue",
  });
});

test("a browser that is not built on Chromium sends no hints, and without options nothing changes", () => {
  expect(Object.keys(sent({ user_agent: "Firefox/140.0" }))).toEqual(["User-Agent", "Accept"]);
  expect(sent({})).toEqual(SENT);
});
