import { Button, Modal, MultiSelect, NumberInput, Select, Stack, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import type { Agent, SpawnInstances } from "#shared/protocol/schema/agent.ts";
import { numberOf, numberProps } from "../../forms/number-props.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { call } from "../../lib/http.ts";
import { useGet } from "../../lib/query.ts";
import { FormErrors } from "../../parts/form-errors.tsx";

const RULES = rulesOf("SpawnInstances");

interface Fields {
  host: string | null;
  count: number | string;
  slots: number | string;
  workloads: string[];
  instance_id: string;
}
const EMPTY: Fields = {
  host: null,
  slots: "",
  workloads: [],
  instance_id: "",
  count: Number(RULES.count.default),
};

/** What is left empty is the server's or the worker's own choice. */
const bodyOf = ({
  host,
  count,
  slots,
  workloads,
  instance_id,
}: Fields): Partial<SpawnInstances> => ({
  count: numberOf(count),
  ...(host !== null && { host }),
  ...(slots !== "" && { slots: numberOf(slots) }),
  ...(workloads.length > 0 && { workloads }),
  // Its field is closed when there are several.
  ...(instance_id !== "" && Number(count) <= 1 && { instance_id }),
});

/** Starts worker instances on a host with an agent (rules/pipeline-agents#spawn-instances). */
export function SpawnButton({ agents }: { agents: readonly Agent[] }) {
  const [opened, { open, close }] = useDisclosure(false);
  const workloads = useGet("/api/v1/workloads", {}, { enabled: opened });
  const { form, saving, props } = useApiForm({
    initial: EMPTY,
    rules: RULES,
    bodyOf,
    send: (json) => call("POST /api/v1/workers/elastic/spawn", { json }),
    done: ({ instances }) =>
      `${instances.map(({ instance_id }) => instance_id).join(", ")}: started at the agent's next report`,
    failed: "No instance was started",
    resets: true,
    onDone: close,
  });
  const leave = () => {
    // Opened again it does not say what became of another try.
    saving.reset();
    form.clearErrors();
    close();
  };
  const connected = agents.some(({ state }) => state === "active");
  return (
    <>
      <Button
        size="xs"
        disabled={!connected}
        title={connected ? undefined : "No agent is connected that could start one"}
        onClick={open}
      >
        Start workers
      </Button>
      <Modal opened={opened} onClose={leave} title="Start workers on a host">
        <form {...props}>
          <Stack gap="sm">
            <FormErrors
              error={saving.error}
              title="No instance was started"
              fields={Object.keys(EMPTY)}
            />
            <Select
              label="Host"
              description="Empty: the connected host with the fewest instances"
              data={agents.map(({ host, state }) => ({
                value: host,
                label: state === "active" ? host : `${host} (offline)`,
                disabled: state !== "active",
              }))}
              clearable
              {...form.getInputProps("host")}
            />
            <NumberInput
              label="How many"
              {...numberProps(RULES.count)}
              {...form.getInputProps("count")}
            />
            <NumberInput
              label="Slots per worker"
              description="Tasks that each runs at a time; empty: from the host's CPUs"
              {...numberProps(RULES.slots)}
              {...form.getInputProps("slots")}
            />
            <MultiSelect
              label="Workloads"
              description="Empty: every workload"
              data={(workloads.data?.workloads ?? []).map(({ slug }) => slug)}
              searchable
              clearable
              {...form.getInputProps("workloads")}
            />
            <TextInput
              label="Name"
              description="For a single instance; empty: a new name"
              disabled={Number(form.values.count) > 1}
              {...form.getInputProps("instance_id")}
            />
            <Button type="submit" loading={saving.isPending}>
              Start
            </Button>
          </Stack>
        </form>
      </Modal>
    </>
  );
}
