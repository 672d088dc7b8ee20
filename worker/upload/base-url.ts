import { createHttp } from "#shared/client/http.ts";
import type { Log } from "#shared/kit/log.ts";
import { fetchHub } from "#shared/protocol/trust.ts";

const PROBE_MS = 1_500;

/**
 * HTTP base for uploads: the hub's public address when a hub of the expected version answers there, otherwise the
 * address that this worker dialled, which is known to work. One request per link; never rejects.
 */
export async function settleUploadBase(deps: {
  public_base_url: string | null;
  dialled: string;
  expected_version: string;
  log: Log;
}): Promise<string> {
  const wanted = deps.public_base_url?.replace(/\/+$/, "");
  if (wanted === undefined || wanted === "" || wanted === deps.dialled) return deps.dialled;
  try {
    const http = createHttp({ base_url: wanted, timeout_ms: PROBE_MS, fetch: fetchHub });
    const health = (await http.call("GET /health")) as { version?: unknown } | null;
    // Something else may listen there, e.g. on the worker's own localhost.
    if (health?.version === deps.expected_version) return wanted;
    deps.log.info(
      { public_base_url: wanted },
      "the public address is not this hub's: using the dialled one",
    );
  } catch {
    deps.log.info(
      { public_base_url: wanted },
      "the public address did not answer: using the dialled one",
    );
  }
  return deps.dialled;
}
