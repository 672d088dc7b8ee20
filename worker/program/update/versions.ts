import { mkdir, rm } from "node:fs/promises";
import type { Clock } from "#shared/kit/clock.ts";
import type { Log } from "#shared/kit/log.ts";
import { newToken } from "#shared/protocol/ids.ts";
import { fetchHub } from "#shared/protocol/trust.ts";
import { download } from "./download.ts";
import { demandProof, type Trusted } from "./proof.ts";
import {
  downloadPath,
  findStaged,
  MAX_ARCHIVE_BYTES,
  pruneVersions,
  stageArchive,
} from "./stage.ts";
import { readState, writeState } from "./state.ts";

export interface VersionsDeps {
  /** Where versions are kept. */
  dir: string;
  /** Version of the program; the one that runs may be an updated one. */
  base: string;
  version: string;
  trusted: Trusted;
  clock: Clock;
  log: Log;
}

/** The versions on this worker's disk, and which of them runs at the next start. */
export interface Versions {
  /** Whether a version need not be fetched. */
  isHere(wanted: string): Promise<boolean>;
  /** Fetches, checks and stages the archive at `url`. */
  fetch(wanted: string, url: string, signal: AbortSignal): Promise<void>;
  /** Stages an archive that is on the disk already. */
  stage(archive: string, wanted: string): Promise<void>;
  /** Makes `wanted` the version that runs next; returns the function that takes this back. */
  swap(wanted: string): Promise<() => Promise<void>>;
  /** Why a version must not run here again; null when it may. */
  refusalOf(wanted: string): Promise<string | null>;
  /** Once the hub has another version, the failed one may be tried again later. */
  forgive(offer: string): Promise<void>;
}

export function openVersions(deps: VersionsDeps): Versions {
  const { dir, base, version, trusted, clock, log } = deps;
  const read = () => readState(dir, base, log);
  return {
    isHere: async (wanted) => wanted === base || (await findStaged(dir, wanted)) !== null,
    fetch: async (wanted, url, signal) => {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      const archive = downloadPath(dir);
      const nonce = newToken();
      try {
        const { sha256, headers } = await download(
          { clock, signal, get: fetchHub },
          { url: `${url}?for=${nonce}`, to: archive, max_bytes: MAX_ARCHIVE_BYTES },
        );
        await demandProof(dir, trusted, { nonce, version: wanted, sha256, headers }, log);
        await stageArchive(dir, archive, wanted);
      } finally {
        await rm(archive, { force: true });
      }
    },
    stage: (archive, wanted) => stageArchive(dir, archive, wanted),
    swap: async (wanted) => {
      const before = await read();
      const previous = version === base ? null : version;
      const current = wanted === base ? null : wanted;
      const attempts = current === null ? null : 0;
      await writeState(dir, { ...before, current, previous, attempts });
      await pruneVersions(dir, [current, previous]);
      return () => writeState(dir, before);
    },
    refusalOf: async (wanted) => {
      const { bad } = await read();
      return bad?.version === wanted ? `version ${wanted} failed here: ${bad.reason}` : null;
    },
    forgive: async (offer) => {
      const state = await read();
      if (state.bad !== null && state.bad.version !== offer)
        await writeState(dir, { ...state, bad: null });
    },
  };
}
