import { createHash } from "node:crypto";
import { chunksOf, streamOf } from "#shared/archive/streams.ts";
import { AppError } from "#shared/kit/errors.ts";
import type { ObjectInfo, ObjectStore, PutOptions } from "../stores/objects.ts";
import type { Keyring } from "./keyring.ts";
import { openStream, sealStream } from "./streams.ts";

type Body = ReadableStream<Uint8Array>;

/** Objects that are encrypted where they are stored, under the names they would have otherwise. */
export interface SealedObjects {
  /** As in the store itself; size, hash and limits are those of the given body. */
  put(
    key: string,
    body: Body,
    options?: Pick<PutOptions, "sha256" | "size" | "max_bytes" | "signal">,
  ): Promise<ObjectInfo>;
  /** Null when there is no such object. A stream of one that was tampered with breaks off. */
  read(key: string): Promise<Body | null>;
  delete(key: string): Promise<void>;
}

export function sealedObjects(
  objects: Pick<ObjectStore, "put" | "read" | "delete">,
  keys: Keyring,
): SealedObjects {
  return {
    put: async (key, body, { signal, size, sha256, max_bytes } = {}) => {
      const hash = createHash("sha256");
      const info = { size: 0, sha256: "" };
      // The store takes an error of the body for a broken connection.
      let refused: AppError | null = null;
      const measured = async function* () {
        for await (const chunk of chunksOf(body)) {
          info.size += chunk.byteLength;
          if (max_bytes !== undefined && info.size > max_bytes) {
            refused = new AppError("too_large", `body is longer than ${max_bytes} bytes`);
            throw refused;
          }
          hash.update(chunk);
          yield chunk;
        }
      };
      const confirm = async () => {
        info.sha256 = hash.digest("hex");
        if (size !== undefined && info.size !== size)
          throw new AppError("invalid", `body has ${info.size} bytes, ${size} were announced`);
        if (sha256 !== undefined && info.sha256 !== sha256)
          throw new AppError("invalid", `body has sha256 ${info.sha256}, ${sha256} was announced`);
      };
      const sealed = streamOf(sealStream(keys, measured(), key));
      try {
        await objects.put(key, sealed, { confirm, ...(signal && { signal }) });
      } catch (err) {
        throw refused ?? err;
      }
      return info;
    },
    read: async (key) => {
      const body = await objects.read(key);
      return body && streamOf(openStream(keys, chunksOf(body), key));
    },
    delete: (key) => objects.delete(key),
  };
}
