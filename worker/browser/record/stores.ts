import { createLedger, type Ledger, type LedgerDeps } from "./ledger.ts";
import { createPartStore, type PartStore } from "./parts.ts";
import { createSpool, dropBody, type Spool } from "./spool.ts";

/** Where bodies are kept until they are uploaded, and what is known of each. */
export interface Stores {
  spool: Spool;
  ledger: Ledger;
  parts: PartStore;
  /** Smaller bodies are not kept. */
  min_size: number;
}

export function openStores(
  files: Parameters<typeof createSpool>[0],
  min_size: number,
  entries: Pick<LedgerDeps, "store" | "onLoss">,
): Stores {
  const spool = createSpool(files);
  const ledger = createLedger({ ...entries, drop: dropBody });
  return { spool, ledger, parts: createPartStore(spool, ledger), min_size };
}
