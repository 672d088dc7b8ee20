import { hostname } from "node:os";
import type { AttackList } from "#test/support/rigs/attempts.ts";
import { MAIN_WAYS } from "./page-ways.ts";

/** This machine, as a page may spell it; names of `.test` are a hostile DNS's. */
export const SPELLINGS = [
  ...["127.0.0.1", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "127.0.0.53"],
  ...["localhost", "localhost.", "a.localhost", "LOCALHOST", hostname()],
  ...["[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "0.0.0.0", "[::]"],
  ...["rebound.test", "six.test", "mapped.test", "zero.test", "translated.test"],
];
/** What tells a machine of a cloud about itself. */
export const METADATA = [
  ...["169.254.169.254", "[::ffff:169.254.169.254]", "2852039166", "[fd00:ec2::254]"],
  ...["100.100.100.200", "[64:ff9b::a9fe:a9fe]", "[fe80::1]", "169.254.1.1"],
  ...["metadata.google.internal", "metadata.test", "alibaba.test", "ec2.test", "link.test"],
];

const by = (places: readonly string[]) =>
  places.flatMap((place) => MAIN_WAYS.map((way) => `${way}: ${place}`));

export const PAGE_TO_HUB: AttackList = {
  what: "A page of a lane: every kind of connection, to every spelling and name of the hub",
  file: "egress.test.ts",
  attempts: by(SPELLINGS.map((host) => (host === hostname() ? "this machine's name" : host))),
};
/** This machine again: another worker's lanes listen there. */
export const NEIGHBOUR_SPELLINGS = ["127.0.0.1", "localhost.", "[::1]", "rebound.test"];
export const PAGE_TO_NEIGHBOUR: AttackList = {
  what: "A page of a lane: every kind of connection, to the debugging, VNC, viewer and gate port of another worker's lanes on its machine",
  file: "egress.test.ts",
  attempts: by(
    ["debugging port", "VNC port", "viewer bridge", "gate"].flatMap((port) =>
      NEIGHBOUR_SPELLINGS.map((host) => `${host}, ${port}`),
    ),
  ),
};
export const PAGE_TO_METADATA: AttackList = {
  what: "A page of a lane: every kind of connection, to metadata and link-local addresses",
  file: "egress.test.ts",
  attempts: by(METADATA),
};
