/** A workload and its first task by curl. */
export const createCommand = (): string =>
  `curl ${location.origin}/api/v1/workloads -H 'content-type: application/json' -d '${JSON.stringify(
    {
      slug: "hello",
      executor_type: "command",
      executor_config: { argv: ["sh", "-c", "cat"] },
    },
  )}'
curl ${location.origin}/api/v1/workloads/hello/tasks -H 'content-type: application/json' -d '{"pk": "first"}'`;
