import { expect, test } from "bun:test";
import { readBrowserOptions } from "#shared/protocol/schema/browser-options.ts";

test("a worker shows what it knows of what a later hub says, and names the rest (rules/browser-options#workers-of-earlier-versions)", () => {
  const given = {
    locale: "de-DE",
    device: "A telephone of next year",
    permissions: ["notifications", "a permission of next year"],
    an_option_of_next_year: true,
    constructor: "x",
  };
  expect(readBrowserOptions(given)).toEqual({
    options: { locale: "de-DE" },
    left_out: ["device", "permissions", "an_option_of_next_year", "constructor"],
  });
});
