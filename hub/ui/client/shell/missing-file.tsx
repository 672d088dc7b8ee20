import { Text } from "@mantine/core";
import { useEffect, useState } from "react";
import { call } from "../lib/http.ts";
import { info } from "../lib/info.ts";
import { ErrorNote, Loading } from "../parts/states.tsx";

/** What browsers say of a script that does not come: of one address, so that there is nothing better to tell it by. */
const NO_FILE = /dynamically imported module|module script failed|importing a module/i;
export const isMissingFile = (error: unknown): boolean =>
  error instanceof TypeError && NO_FILE.test(error.message);

const KEY = "flotilla-read-anew";
const AGAIN_MS = 2_000;
/** A page that is as incomplete after it was read anew would do so for ever. */
const ONCE_IN_MS = 60_000;

function readAnew(): boolean {
  const [address, at] = JSON.parse(sessionStorage.getItem(KEY) ?? "[]") as [string?, number?];
  if (address === location.href && Date.now() - (at ?? 0) < ONCE_IN_MS) return false;
  sessionStorage.setItem(KEY, JSON.stringify([location.href, Date.now()]));
  location.reload();
  return true;
}

/** Resolves when the server answers. */
async function serverAnswers(signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const path = info.fleet ? "GET /health" : "GET /api/v1/health";
    if (
      await call(path, { signal }).then(
        () => true,
        () => false,
      )
    )
      return;
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/**
 * In place of a part of the app whose file did not come: the server is away, or has been updated and has files of other
 * names. Once it answers, the page is read anew.
 */
export function MissingFile({ error }: { error: unknown }) {
  const [given_up, setGivenUp] = useState(false);
  useEffect(() => {
    const left = new AbortController();
    void serverAnswers(left.signal).then(() => {
      if (!left.signal.aborted && !readAnew()) setGivenUp(true);
    });
    return () => left.abort();
  }, []);
  if (given_up)
    return (
      <ErrorNote
        error={error}
        title="A part of this page could not be loaded"
        retry={() => location.reload()}
      />
    );
  return (
    <>
      <Text size="sm" c="dimmed" mb="sm">
        This part of the page comes as soon as the server answers.
      </Text>
      <Loading />
    </>
  );
}
