import { Anchor } from "@mantine/core";
import { pathOf } from "#shared/client/operation.ts";

/** The trace of a session that has ended, for Playwright's own viewer; it is there a few seconds after the end. */
export const TraceLink = ({ sid }: { sid: string }) => (
  <Anchor href={pathOf("GET /sessions/{sid}/trace.zip", { params: { sid } })} download>
    Playwright trace
  </Anchor>
);
