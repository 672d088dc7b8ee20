import { describe, expect, test } from "bun:test";
import { type AddressClass, classifyAddress, isMetadataHost } from "#shared/kit/addresses.ts";
import { matchesEgressRule, parseEgressRule } from "#shared/protocol/egress-rules.ts";
import { bothJudges, createJudge } from "#worker/egress/judge.ts";

const ROWS: [string, AddressClass | null][] = [
  ["127.0.0.1", "loopback"],
  ["127.255.1.2", "loopback"],
  ["2130706433", "loopback"],
  ["0x7f000001", "loopback"],
  ["0x7f.1", "loopback"],
  ["0177.0.0.1", "loopback"],
  ["127.1", "loopback"],
  ["::1", "loopback"],
  ["[::1]", "loopback"],
  ["0:0:0:0:0:0:0:1", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["[::ffff:7f00:1]", "loopback"],
  ["::127.0.0.1", "loopback"],
  ["64:ff9b::7f00:1", "loopback"],
  ["2002:7f00:1::", "loopback"],
  ["0.0.0.0", "unspecified"],
  ["::", "unspecified"],
  ["10.1.2.3", "private"],
  ["172.16.0.1", "private"],
  ["172.32.0.1", "public"],
  ["192.168.255.1", "private"],
  ["100.64.0.1", "private"],
  ["fd12::1", "private"],
  ["fec0::1", "private"],
  ["169.254.1.1", "link_local"],
  ["fe80::1%eth0", "link_local"],
  ["[fe80::1]", "link_local"],
  ["169.254.169.254", "metadata"],
  ["2852039166", "metadata"],
  ["0xa9fea9fe", "metadata"],
  ["::ffff:a9fe:a9fe", "metadata"],
  ["fd00:ec2::254", "metadata"],
  ["100.100.100.200", "metadata"],
  ["8.8.8.8", "public"],
  ["2606:4700::1111", "public"],
  ["example.com", null],
  ["", null],
];

describe("addresses (rules/egress#never-reachable)", () => {
  test.each(ROWS)("%p is %p", (address, expected) => {
    expect(classifyAddress(address)).toBe(expected);
  });

  test("metadata hosts are known by name", () => {
    expect(isMetadataHost("metadata.google.internal.")).toBe(true);
    expect(isMetadataHost("example.com")).toBe(false);
  });
});

describe("the guard", () => {
  const guard = createJudge({ navigation_block: [], own_ports: [9223] });

  test("allows loopback and private addresses unless the setting refuses them", () => {
    expect(guard.refusal("127.0.0.1", 80)).toBeNull();
    expect(guard.refusal("10.0.0.1", 80)).toBeNull();
    const strict = createJudge({ navigation_block: ["loopback", "private"], own_ports: [] });
    expect(guard.refusal("0.0.0.0", 80)).toContain("is not an address of a server");
    expect(strict.refusal("[::1]", 80)).toContain("SVC_NAVIGATION_BLOCK");
    expect(strict.refusal("192.168.1.1", 80)).toContain("SVC_NAVIGATION_BLOCK");
    expect(strict.refusal("8.8.8.8", 80)).toBeNull();
  });

  test("refuses its own ports on this machine only", async () => {
    expect(guard.refusal("127.0.0.1", 9223)).toContain("own lanes");
    expect(guard.refusal("8.8.8.8", 9223)).toBeNull();
    expect(await guard.checkUrl("http://0x7f.0.0.1:9223/json")).toContain("own lanes");
    expect(await guard.checkUrl("http://x.localhost:9223/")).toContain("own lanes");
    expect(await guard.checkUrl("http://127.0.0.1:9224/")).toBeNull();
    expect(await guard.checkUrl("http://metadata.google.internal/")).toContain("metadata");
  });
});

describe("the lists of the gate (SVC_EGRESS_ALLOW, SVC_EGRESS_DENY)", () => {
  const rules = (...texts: string[]) =>
    texts.map((text) => {
      const rule = parseEgressRule(text);
      if (!rule) throw new Error(`${text} is no rule`);
      return rule;
    });
  const place = (address: string, port = 80, host = address) => ({ address, port, host });

  test.each([
    ["10.0.0.0/8", place("10.200.1.2"), true],
    ["10.0.0.0/8", place("11.0.0.1"), false],
    ["10.0.0.0/8", place("::ffff:10.1.1.1"), true],
    ["::ffff:10.0.0.0/104", place("10.1.1.1"), true],
    ["10.1.2.3:8080", place("10.1.2.3", 8080), true],
    ["10.1.2.3:8080", place("10.1.2.3", 8081), false],
    ["[fd00::/8]:80-90", place("fd12::1", 85), true],
    ["[fd00::]/8:80-90", place("fd12::1", 85), true],
    ["[fd00::]/8:80-90", place("fd12::1", 91), false],
    ["fd00::/8", place("fd12::1", 91), true],
    ["*.example.com", place("1.2.3.4", 443, "a.EXAMPLE.com."), true],
    ["*.example.com", place("1.2.3.4", 443, "example.com"), false],
    ["*.example.com", place("1.2.3.4", 443, "aXexample.com"), false],
    ["*:25", place("8.8.8.8", 25, "mail.test"), true],
  ])("%s, %o: %p", (text, at, expected) => {
    const rule = parseEgressRule(text);
    expect(rule !== null && matchesEgressRule(rule, at)).toBe(expected);
  });

  test.each(["", "10.0.0.0/33", "a b", "x:0", "x:70000", "x:9-8", "http://x/", "1.2.3.4/x"])(
    "%p is no rule",
    (text) => expect(parseEgressRule(text)).toBeNull(),
  );

  test("a denied place is refused in every mode, an allowed one is an exception from public", () => {
    const judge = createJudge({
      mode: "public",
      allow: rules("10.1.0.0/16", "wiki.test"),
      deny: rules("10.1.1.1", "*:25"),
      navigation_block: [],
      own_ports: [],
    });
    expect(judge.refusal("8.8.8.8", 80)).toBeNull();
    expect(judge.refusal("10.1.2.2", 80)).toBeNull();
    expect(judge.refusal("192.168.1.1", 80, "wiki.test")).toBeNull();
    expect(judge.refusal("192.168.1.1", 80)).toContain("egress mode public");
    expect(judge.refusal("127.0.0.1", 80)).toContain("egress mode public");
    expect(judge.refusal("10.1.1.1", 80)).toContain("is denied");
    expect(judge.refusal("8.8.8.8", 25)).toContain("is denied");
    expect(judge.refusal("169.254.169.254", 80, "wiki.test")).toContain("metadata");
  });

  test("listed leaves what is allowed, and two judges what both allow", () => {
    const settings = { navigation_block: [], own_ports: [] };
    const listed = createJudge({ mode: "listed", allow: rules("*.example.com:443"), ...settings });
    expect(listed.refusal("8.8.8.8", 443, "www.example.com")).toBeNull();
    expect(listed.refusal("8.8.8.8", 80, "www.example.com")).toContain("not on a list");
    const both = bothJudges(createJudge({ mode: "public", ...settings }), listed);
    expect(both.refusal("10.0.0.1", 443, "www.example.com")).toContain("public");
    expect(both.refusal("8.8.8.8", 443, "other.test")).toContain("not on a list");
  });
});
