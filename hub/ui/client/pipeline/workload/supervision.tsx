import { Alert, Text } from "@mantine/core";
import { useGet } from "../../lib/query.ts";
import { Ago } from "../../parts/text.tsx";

const DID: Record<string, string> = {
  pause: "paused it",
  reset: "retried its failed tasks",
  restart: "restarted its dead instances",
  report: "reported a problem",
};
const PROBLEMS: Record<string, string> = {
  no_worker: "Tasks are ready and no live worker may run them",
  dead_instances: "Tasks are ready and instances that should run them are dead",
  broken_executor: "Tasks are ready and their code does not load",
  stuck: "Tasks are ready and workers are idle, but nothing runs",
};

/** What the supervisor sees of a workload and did with it last; nothing where it never did. */
export function SupervisionNote({ slug }: { slug: string }) {
  const { data } = useGet("/api/v1/workloads/{slug}/supervisor", { params: { slug } });
  if (!data || (data.paused_at === null && data.problem === null && data.action === null))
    return null;
  const title =
    data.paused_at !== null
      ? "Paused by the supervisor"
      : data.problem !== null
        ? (PROBLEMS[data.problem] ?? data.problem)
        : "The supervisor stepped in";
  return (
    <Alert
      color={data.paused_at || data.problem ? "orange" : "blue"}
      title={title}
      mb="md"
      role="status"
    >
      <Text size="sm" className="wrap">
        {data.action && (
          <>
            It {DID[data.action] ?? data.action} <Ago at={data.action_at} />: {data.reason}.{" "}
          </>
        )}
        {data.paused_at && "It stays paused until you switch it on."}
        {data.problem && (
          <>
            Seen since <Ago at={data.problem_since} />.
          </>
        )}
      </Text>
    </Alert>
  );
}
