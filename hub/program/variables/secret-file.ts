import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { ConfigError } from "#shared/kit/env.ts";

/** More than any key or URL; a path that names something else is not read into memory. */
const MAX_BYTES = 64 * 1024;

const CAUSES: Record<string, string> = {
  ENOENT: "does not exist",
  EACCES: "may not be read by this user",
  EPERM: "may not be read by this user",
  EISDIR: "is a directory",
  ENOTDIR: "does not exist: a part of its path is a file",
  ELOOP: "is a link that leads nowhere",
};

function readShort(path: string, by: string): string {
  try {
    // Does not wait for a writer if it is a pipe.
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw new ConfigError(`${by}: ${path} is not a file`);
      if (stat.size > MAX_BYTES)
        throw new ConfigError(`${by}: ${path} is larger than ${MAX_BYTES / 1024} KiB`);
      return readFileSync(fd, "utf8");
    } finally {
      closeSync(fd);
    }
  } catch (err) {
    if (err instanceof ConfigError) throw err;
    const { code = "", message } = err as NodeJS.ErrnoException;
    throw new ConfigError(`${by}: ${path} ${CAUSES[code] ?? `cannot be read: ${message}`}`);
  }
}

/** The text of a file of variables. @throws ConfigError that names `by`, the path and the cause. */
export const readVariablesFile = readShort;

/**
 * The secret that a file holds, without the line break at its end. `by`: the variable that names the file.
 * @throws ConfigError that names `by`, the path and the cause; also if the file is empty, because a service would run
 * without its secret.
 */
export function readSecretFile(path: string, by: string): string {
  const secret = readShort(path, by).replace(/\r?\n$/, "");
  if (secret.trim() === "") throw new ConfigError(`${by}: ${path} is empty`);
  if (/[\r\n\0]/.test(secret)) throw new ConfigError(`${by}: ${path} must contain one line`);
  return secret;
}
