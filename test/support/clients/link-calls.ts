export const TOKEN = "t0ken-of-the-test";
export const PASSWORD = "password-of-the-test";
export const USER = { authorization: `Bearer ${TOKEN}` };
export const ADMIN = { ...USER, "x-admin-password": PASSWORD };

/** What a viewer says first. */
export const HANDSHAKE = Buffer.concat([Buffer.from("RFB 003.008\n"), Buffer.from([1, 1])]);
/** Asks for the screen; changes nothing. */
export const UPDATE = Buffer.from([3, 1, 0, 0, 0, 0, 0, 1, 0, 1]);
/** Everything by which a viewer changes something. */
export const ACTS = Buffer.concat([
  Buffer.from([4, 1, 0, 0, 0, 0, 0, 0x61]),
  Buffer.from([5, 1, 0, 9, 0, 9]),
  Buffer.from([5, 0x81, 0, 9, 0, 9, 1]),
  Buffer.from([6, 0, 0, 0, 0, 0, 0, 2, 0x68, 0x69]),
  Buffer.from([250, 0, 1, 2]),
  Buffer.concat([Buffer.from([251, 0, 4, 0, 3, 0, 1, 0]), Buffer.alloc(16)]),
  Buffer.from([255, 0, 0, 1, 0, 0, 0, 0x61, 0, 0, 0, 30]),
]);

/** Of `/links/<text>/…`. */
export const textOf = (path: string) => path.split("/")[2] ?? "";
export const streamOf = (path: string) => `/links/${textOf(path)}/websockify`;
