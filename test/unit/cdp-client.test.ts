import { expect, test } from "bun:test";
import { readCdpClient, writeCdpClient } from "#shared/protocol/cdp-client.ts";

test("the name of a CDP client passes a header whatever stands in it (rules/recordings#the-events)", () => {
  for (const name of ["ann", "10.0.0.7", "Zoë\r\nX-Evil: 1", "100 % \u0000 日本", "a\ud800b"]) {
    const header = writeCdpClient(name);
    expect(header).toMatch(/^[\x21-\x7e]*$/);
    expect(readCdpClient(header)).toBe(name.toWellFormed());
  }
  expect(readCdpClient(writeCdpClient("x".repeat(1_000)))).toHaveLength(200);
});

test("a header that says nothing, or nothing that can be read, names nobody", () => {
  for (const header of [undefined, "", "%E0%A4%A", ["a", "b"]])
    expect(readCdpClient(header)).toBeUndefined();
});
