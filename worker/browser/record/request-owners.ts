import type { Protocol } from "../cdp/connection.ts";
import type { RequestEntry } from "./requests.ts";
import type { Tracked } from "./targets.ts";

/** Workers that workers create. */
const MAX_WORKER_DEPTH = 4;

const isOfDocument = ({ type }: Tracked): boolean => type === "page" || type === "iframe";
const ownerKey = ({ target_id }: Tracked, url: string): string => `${target_id} ${url}`;

/** Which document a request belongs to, though a worker may have made it. */
export interface RequestOwners {
  /** The document that makes this request, or the owner of the worker that does; null when unknown. */
  of(target: Tracked, p: Protocol.Network.RequestWillBeSentEvent): string | null;
  /** A document was answered: it is now what its frame shows. */
  answered(document: RequestEntry, url: string): void;
}

export function createRequestOwners(): RequestOwners {
  /** Documents by the scripts they requested, one of which is a worker's. */
  const owners = new Map<string, string>();
  /** Documents by their frame: a worker whose script's request is not reported has the owner of its process. */
  const documents = new Map<string, string>();

  /** A worker's worker has the same owner as its parent. */
  const ownerOf = ({ parent, session }: Tracked): string | null => {
    if (parent === null) return null;
    if (!isOfDocument(parent)) return ownerOf(parent);
    const script = session.target?.url ?? "";
    const owner = documentOf(parent, script);
    return owner === script ? (documents.get(parent.target_id) ?? null) : owner;
  };
  /** The page also reports the requests of its dedicated workers, with the worker's script as their document. */
  const documentOf = (target: Tracked, url: string): string => {
    let document = url;
    for (let depth = 0; depth < MAX_WORKER_DEPTH; depth += 1)
      document = owners.get(ownerKey(target, document)) ?? document;
    return document;
  };
  return {
    of: (target, { type, request, documentURL }) => {
      if (!isOfDocument(target)) return ownerOf(target);
      if (type === "Script") owners.set(ownerKey(target, request.url), documentURL);
      return documentOf(target, documentURL);
    },
    answered: ({ frame_id }, url) => {
      if (frame_id !== null) documents.set(frame_id, url);
    },
  };
}
