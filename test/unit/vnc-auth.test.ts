import { describe, expect, test } from "bun:test";
import { RfbError } from "#shared/protocol/rfb.ts";
import { createVncEntrance, createVncFront } from "#shared/protocol/rfb-handshake.ts";
import { answerTo, newVncSecret, passwordFile, secretIn } from "#shared/protocol/vnc-auth.ts";

const VERSION = Buffer.from("RFB 003.008\n");
const CHALLENGE = Buffer.from("0123456789abcdef");

test("a password file is as VNC's own programs write it, and is read back", () => {
  // tigervncpasswd of "password".
  expect(passwordFile("password").toString("hex")).toBe("dbd83cfd727a1458");
  const secret = newVncSecret();
  expect(secret).toMatch(/^[\w-]{8}$/);
  expect(secretIn(passwordFile(secret))).toBe(secret);
  expect(secretIn(passwordFile("short"))).toBe("short");
});

/** What a client says to a server that says all of this, in pieces of one byte. */
function enter(secret: string | null, server: Buffer): { said: Buffer; rest: Buffer | null } {
  const entrance = createVncEntrance(secret);
  const said: Uint8Array[] = [];
  let rest: Buffer | null = null;
  for (let end = 1; end <= server.length && rest === null; end += 1)
    rest = entrance(server.subarray(0, end), (bytes) => said.push(bytes));
  return { said: Buffer.concat(said), rest };
}

describe("the client's side of the handshake", () => {
  test("it answers the challenge, or asks for nothing where there is no secret", () => {
    const asks = Buffer.concat([VERSION, Buffer.from([1, 2]), CHALLENGE, Buffer.alloc(4)]);
    expect(enter("s3cret-8", asks)).toEqual({
      said: Buffer.concat([VERSION, Buffer.from([2]), answerTo(CHALLENGE, "s3cret-8")]),
      rest: Buffer.alloc(0),
    });
    const open = Buffer.concat([VERSION, Buffer.from([2, 1, 16]), Buffer.alloc(4)]);
    expect(enter(null, open).said).toEqual(Buffer.concat([VERSION, Buffer.from([1])]));
  });

  test("a server that asks for something else, refuses or is none is an error", () => {
    const open = Buffer.concat([VERSION, Buffer.from([1, 1])]);
    expect(() => enter("s3cret-8", open)).toThrow("asks for no password");
    expect(() => enter(null, Buffer.concat([VERSION, Buffer.from([1, 2])]))).toThrow(
      "requires a password",
    );
    const refused = Buffer.concat([
      VERSION,
      Buffer.from([1, 2]),
      CHALLENGE,
      Buffer.from([0, 0, 0, 1]),
    ]);
    expect(() => enter("s3cret-8", refused)).toThrow("refused");
    expect(() => enter(null, Buffer.from("SSH-2.0-OpenSSH\r\n"))).toThrow(RfbError);
  });
});

describe("the server's side of the handshake", () => {
  test("viewers of both versions are let in without a password, in pieces of any size", () => {
    for (const [version, accepted] of [
      ["RFB 003.008\n", "\0\0\0\0"],
      ["RFB 003.007\n", ""],
    ] as const)
      for (const size of [1, 5, 100]) {
        const front = createVncFront();
        const client = Buffer.concat([
          Buffer.from(version),
          Buffer.from([1, 1]),
          Buffer.from("key"),
        ]);
        let said = "";
        let rest = "";
        for (let at = 0; at < client.length; at += size) {
          const step = front.push(client.subarray(at, at + size));
          said += Buffer.concat(step.say).toString("latin1");
          rest += Buffer.from(step.rest ?? []).toString("latin1");
        }
        expect(said).toBe(`\x01\x01${accepted}`);
        expect(rest).toBe("\x01key");
      }
  });

  test("what is not offered is refused", () => {
    const front = createVncFront();
    front.push(VERSION);
    expect(() => front.push(Buffer.from([2]))).toThrow(RfbError);
    expect(() => createVncFront().push(Buffer.from("GET / HTTP/1.1\r\n"))).toThrow(RfbError);
  });
});
