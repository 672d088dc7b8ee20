import { Button } from "@mantine/core";
import { IconPlayerPlay } from "@tabler/icons-react";
import { useLocation } from "wouter";
import type { Job } from "#shared/protocol/schema/job.ts";
import { call } from "../../lib/http.ts";
import { sessionHref } from "../../lib/links.ts";
import { useChange } from "../../lib/query.ts";
import { OPEN_MS } from "../session/new-session.ts";

/** Opens a session that shows what the job has captured, for a person to click around in. */
export function ReplayButton({ job }: { job: Job }) {
  const [, navigate] = useLocation();
  const open = useChange(
    () => call("POST /sessions", { json: { replay: job.job_id }, timeout_ms: OPEN_MS }),
    {
      failed: "The replay was not opened",
      onDone: ({ session_id }) => navigate(sessionHref(session_id)),
    },
  );
  return (
    <Button
      variant="default"
      leftSection={<IconPlayerPlay size={16} />}
      loading={open.isPending}
      onClick={() => open.mutate(undefined)}
      title="Show the page again from its capture, in a browser that asks nobody else"
    >
      Replay
    </Button>
  );
}
