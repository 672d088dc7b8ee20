import { describe, expect, test } from "bun:test";
import { type AddressClass, classifyAddress, isMetadataHost } from "#shared/addresses.ts";
import { createGuard } from "#worker/fetch/guard.ts";

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

describe("addresses (architecture §7)", () => {
  test.each(ROWS)("%p is %p", (address, expected) => {
    expect(classifyAddress(address)).toBe(expected);
  });

  test("metadata hosts are known by name", () => {
    expect(isMetadataHost("metadata.google.internal.")).toBe(true);
    expect(isMetadataHost("example.com")).toBe(false);
  });
});

describe("the guard", () => {
  const guard = createGuard({ navigation_block: [], own_ports: [9223] });

  test("allows loopback and private addresses unless the setting refuses them", () => {
    expect(guard.refusal("127.0.0.1", 80)).toBeNull();
    expect(guard.refusal("10.0.0.1", 80)).toBeNull();
    const strict = createGuard({ navigation_block: ["loopback", "private"], own_ports: [] });
    expect(strict.refusal("0.0.0.0", 80)).toContain("SVC_NAVIGATION_BLOCK");
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
