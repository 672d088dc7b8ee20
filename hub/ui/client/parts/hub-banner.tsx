import { Alert, Box, Stack, Text } from "@mantine/core";
import type { Degraded, Health, Stopping } from "#shared/schema/health.ts";
import { info } from "../lib/info.ts";
import { useGet } from "../lib/query.ts";

const PART: Record<Degraded["part"], string> = {
  database: "Database",
  worker_registry: "Worker registry",
  object_store: "Object store",
  backup: "Backup",
};

const count = (n: number, one: string): string => `${n} ${one}${n === 1 ? "" : "s"}`;

const waitsFor = ({ jobs, sessions, left_s }: Stopping): string =>
  jobs + sessions === 0
    ? "Nothing runs here any more."
    : `It waits for ${count(jobs, "job")} and ${count(sessions, "session")}, for ${left_s} s at most; what still runs then goes on at its worker.`;

/** That the hub is stopping, and what of it does not work; nothing while all is well. */
export function HubBanner() {
  const path = info.fleet ? "/health" : "/api/v1/health";
  const { data } = useGet<Pick<Health, "degraded"> & Partial<Pick<Health, "stopping">>>(path);
  if (!data) return null;
  const { degraded, stopping } = data;
  return (
    <Box component="section" aria-label="Hub">
      {stopping && (
        <Alert
          color="orange"
          title="This hub is stopping, and assigns nothing"
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
