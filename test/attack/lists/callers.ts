import { hostname } from "node:os";
import type { AttackList } from "#test/support/rigs/attempts.ts";

/** What a browser says of a call that a page of another origin has it make. */
export const FOREIGN_PAGES: readonly (readonly [string, Record<string, string>])[] = [
  ["a page of another site", { origin: "https://evil.example", "sec-fetch-site": "cross-site" }],
  [
    "a page over plain HTTP, where browsers say nothing of the site",
    { origin: "http://evil.example" },
  ],
  ["a page of another port of the same host", { origin: "http://127.0.0.1:1" }],
  ["a sandboxed page", { origin: "null" }],
  ["a form or a picture of another site", { "sec-fetch-site": "cross-site" }],
  ["a page of a neighbour under the same domain", { "sec-fetch-site": "same-site" }],
];
export const ORIGINS: AttackList = {
  what: "Calls that pages of other origins make a browser send",
  file: "origins.test.ts",
  attempts: FOREIGN_PAGES.map(([who]) => who),
  on: "every route",
};

/** Names that lead to the server and are not its own. */
export const FOREIGN_HOSTS: readonly string[] = [
  ...["evil.example", "fleet.example.evil.example", "127.0.0.1.evil.example"],
  ...["localhost.evil.example", "evillocalhost", "0x7f000001", "2130706433", "127.1"],
  ...["sub.fleet.example", "xn--n3h.example", `${hostname()}.evil.example`],
];
export const HOSTS: AttackList = {
  what: "Names that lead to the server and are not its own (DNS rebinding); the first of them on every route in every mode",
  file: "hosts.test.ts",
  attempts: FOREIGN_HOSTS.map((host) => host.replace(hostname(), "this machine")),
};
