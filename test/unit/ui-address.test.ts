import { expect, test } from "bun:test";
import { addressOf } from "#hub/ui/client/lib/address.ts";

test.each([
  [" example.com ", "https://example.com"],
  ["example.com/a?b", "https://example.com/a?b"],
  ["localhost:8620/x", "http://localhost:8620/x"],
  ["127.0.0.1:8620", "http://127.0.0.1:8620"],
  ["intranet", "https://intranet"],
  ["printer:631", "http://printer:631"],
  ["http://127.0.0.1:8620/", "http://127.0.0.1:8620/"],
  ["about:blank", "about:blank"],
  ["", ""],
])("%j is meant as %j", (typed, meant) => {
  expect(addressOf(typed)).toBe(meant);
});
