import { Alert, Anchor, Box, Stack, Text } from "@mantine/core";
import { useSyncExternalStore } from "react";
import { Link } from "wouter";
import { counted } from "#shared/kit/words.ts";
import type { Degraded, Stopping } from "#shared/protocol/schema/health.ts";
import { useHealth } from "../lib/health.ts";
import { loginStore, whoAmI } from "../lib/logins.ts";

const PART: Record<Degraded["part"], string> = {
  database: "Database",
  worker_registry: "Worker registry",
  object_store: "Object store",
  disk: "Disk",
  backup: "Backup",
};

const waitsFor = ({ jobs, sessions, left_s }: Stopping): string =>
  jobs + sessions === 0
    ? "Nothing runs here any more."
    : `It waits for ${counted(jobs, "job")} and ${counted(sessions, "session")}, for at most ${left_s} s; whatever still runs then continues on its worker.`;

/** That anybody may do anything here. */
function OpenNote() {
  const who = useSyncExternalStore(loginStore.subscribe, whoAmI);
  if (who?.open)
    return (
      <Alert color="yellow" title="This server is open" role="status" mb="md" py="xs">
        <Text size="sm">
          No token is required: anyone who can reach it may control its browsers and run commands on
          its workers.{" "}
          <Anchor
            component={Link}
            href="/ui/system/tokens"
            size="sm"
            c="inherit"
            underline="always"
          >
            Create a token
          </Anchor>{" "}
          to close it.
        </Text>
      </Alert>
    );
  if (!who?.workers_open) return null;
  return (
    <Alert color="yellow" title="Workers join without a secret" role="status" mb="md" py="xs">
      <Text size="sm">
        People need a token, workers need nothing: set WORKER_SECRET on the hubs and the workers.
      </Text>
    </Alert>
  );
}

/** That the hub is stopping, and what of it does not work; nothing while all is well. */
export function HubBanner() {
  const { data } = useHealth();
  if (!data) return <OpenNote />;
  const { degraded } = data;
  // The control plane alone takes no part in it.
  const stopping = "stopping" in data ? data.stopping : null;
  return (
    <Box component="section" aria-label="Hub">
      <OpenNote />
      {stopping && (
        <Alert
          color="orange"
          title="This hub is stopping and assigns no work"
          role="status"
          mb="md"
        >
          <Text size="sm">{waitsFor(stopping)}</Text>
        </Alert>
      )}
      {degraded.length > 0 && (
        <Alert color="red" title="Not everything works" role="status" mb="md">
          <Stack gap="xs">
            {degraded.map(({ part, detail }) => (
              <Text key={part} size="sm" className="wrap">
                {PART[part]}: {detail}
              </Text>
            ))}
          </Stack>
        </Alert>
      )}
    </Box>
  );
}
