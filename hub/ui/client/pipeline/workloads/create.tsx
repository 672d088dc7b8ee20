import {
  Button,
  Collapse,
  Group,
  Modal,
  SegmentedControl,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useEffect } from "react";
import { useLocation } from "wouter";
import { EXECUTOR_TYPES, EXECUTORS } from "#shared/protocol/executors.ts";
import type { ExecutorType } from "#shared/protocol/schema/workload.ts";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { asWritten, call } from "../../lib/http.ts";
import { workloadHref } from "../../lib/links.ts";
import { DEFAULTS, type Draft, draftOf, readDraft } from "../workload/form/draft.ts";
import { WorkloadForm } from "../workload/form/workload-form.tsx";

const RULES = rulesOf("WorkloadCreate");

const isType = (text: unknown): text is ExecutorType =>
  typeof text === "string" && text in EXECUTORS;

/** Its name follows from its slug unless somebody gives it one. */
const exampleDraft = (type: ExecutorType): Draft => ({
  ...draftOf({ ...DEFAULTS, executor_type: type, executor_config: EXECUTORS[type].example }),
  slug: "",
});

function readCreate(draft: Draft): ReturnType<typeof readDraft> {
  const { body, faults } = readDraft(draft);
  const { name: nameless, ...rest } = faults;
  const unnamed = nameless !== undefined;
  return { body: { ...body, slug: draft.slug }, faults: unnamed ? rest : faults };
}

interface CreateFormProps {
  type: ExecutorType;
  onType: (type: ExecutorType) => void;
  onClose: () => void;
}

function CreateForm({ type, onType, onClose }: CreateFormProps) {
  const [, navigate] = useLocation();
  const [more, { toggle, open: openMore }] = useDisclosure(false);
  const { form, saving, props } = useApiForm({
    initial: exampleDraft(type),
    rules: RULES,
    bodyOf: (draft) => readCreate(draft).body,
    check: (draft) => readCreate(draft).faults,
    send: (json) => call("POST /api/v1/workloads", { json: asWritten(json) }),
    done: ({ slug: made }) => `Workload ${made} was created`,
    failed: "The workload was not created",
    onDone: ({ slug: made }) => navigate(workloadHref(made, { tab: "submit" })),
    // No field stays hidden that has to be corrected.
    onRefused: (paths) => {
      if (paths.some((path) => !/^(slug|executor_)/.test(path))) openMore();
    },
  });
  const begin = (chosen: ExecutorType) => {
    const { slug, name } = form.values;
    form.setValues({ ...exampleDraft(chosen), slug, name });
  };
  const { executor_type } = form.values;
  useEffect(() => {
    if (isType(executor_type) && executor_type !== type) onType(executor_type);
  }, [executor_type, type, onType]);
  return (
    <form {...props}>
      <Stack>
        <TextInput
          label="Slug"
          description="Its name in addresses and commands; it cannot be changed later"
          placeholder="thumbnails"
          data-autofocus
          {...form.getInputProps("slug")}
        />
        <div>
          <Text size="sm" fw={500} id="example">
            Begin with an example
          </Text>
          <SegmentedControl
            aria-labelledby="example"
            fullWidth
            className="executor-types"
            data={EXECUTOR_TYPES.map((value) => ({ value, label: value.replace("_", " ") }))}
            value={type}
            onChange={(value) => isType(value) && begin(value)}
          />
          <Text size="xs" c="dimmed" mt={4}>
            {EXECUTORS[type].text}
          </Text>
        </div>
        <WorkloadForm form={form} error={saving.error} sections={["Executor"]} />
        <Button variant="subtle" size="xs" onClick={toggle} aria-expanded={more}>
          {more ? "Fewer settings" : "Every other setting"}
        </Button>
        <Collapse expanded={more}>
          <WorkloadForm
            form={form}
            error={null}
            sections={["General", "Running", "Retries", "Schedule"]}
          />
        </Collapse>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Not now
          </Button>
          <Button type="submit" loading={saving.isPending}>
            Create the workload
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** `type` "" is closed: the address says which example it began with. */
export function CreateDialog({ type, onType }: { type: string; onType: (type: string) => void }) {
  const close = () => onType("");
  return (
    <Modal opened={type !== ""} onClose={close} title="Create a workload" size="xl">
      {type !== "" && (
        <CreateForm type={isType(type) ? type : "command"} onType={onType} onClose={close} />
      )}
    </Modal>
  );
}
