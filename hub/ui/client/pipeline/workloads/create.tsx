import {
  Button,
  Collapse,
  Group,
  Modal,
  SegmentedControl,
  Select,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import type { UseFormReturnType } from "@mantine/form";
import { useDisclosure } from "@mantine/hooks";
import { useLocation } from "wouter";
import { rulesOf } from "../../forms/rules-macro.ts" with { type: "macro" };
import { useApiForm } from "../../forms/use-api-form.ts";
import { asWritten, call } from "../../lib/http.ts";
import { workloadHref } from "../../lib/links.ts";
import { useGet } from "../../lib/query.ts";
import { FieldHelp } from "../../parts/field-help.tsx";
import { CHECK_CALL_MS, TestPanel, useTestRun } from "../workload/code/test-panel.tsx";
import { type Draft, readDraft } from "../workload/form/draft.ts";
import type { Field } from "../workload/form/fields.ts";
import { WorkloadForm } from "../workload/form/workload-form.tsx";
import { draftFor, isWay, KINDS, kindOf, MAIN, TEXTS, type Way } from "./ways.ts";

const RULES = rulesOf("WorkloadCreate");

/** Its name follows from its slug unless somebody gives it one. */
function readCreate(draft: Draft): ReturnType<typeof readDraft> {
  const { body, faults } = readDraft(draft);
  const { name: nameless, ...rest } = faults;
  const unnamed = nameless !== undefined;
  return { body: { ...body, slug: draft.slug }, faults: unnamed ? rest : faults };
}

/** The plugins that a workload can run. */
function PluginField({ form }: { form: UseFormReturnType<Draft> }) {
  const list = useGet("/api/v1/plugins/available");
  const usable = (list.data?.plugins ?? []).filter(
    ({ manifest, sha256 }) => sha256 !== null && manifest?.executor !== undefined,
  );
  const choose = (slug: string | null) => {
    form.setFieldValue("executor_config.plugin", slug ?? "");
    const type = usable.find((one) => one.slug === slug)?.manifest?.executor?.type;
    if (type !== undefined) form.setFieldValue("executor_type", type);
  };
  const { error, value } = form.getInputProps("executor_config.plugin");
  return (
    <Select
      label="Plugin"
      description={
        <FieldHelp of="WorkloadUpdate" field="executor_config.plugin">
          What is in the plugins folder of this server and can run tasks
        </FieldHelp>
      }
      placeholder={list.data && usable.length === 0 ? "There is none yet" : "Choose one"}
      data={usable.map(({ slug, manifest }) => ({
        value: slug,
        label: `${manifest?.name ?? slug} ${manifest?.version ?? ""} · ${manifest?.executor?.type.replace("_", " ")}`,
      }))}
      value={String(value ?? "") || null}
      error={error}
      onChange={choose}
    />
  );
}

/** Which of the three ways, and which kind of it. */
function WayFields({ way, onWay }: { way: Way; onWay: (way: Way) => void }) {
  const kind = kindOf(way);
  const choose = (to: string) => isWay(to) && onWay(to);
  return (
    <div>
      <Text size="sm" fw={500} id="way">
        What runs its tasks
      </Text>
      <SegmentedControl
        aria-labelledby="way"
        fullWidth
        className="executor-types"
        data={KINDS.map(({ title, ways }) => ({ value: ways[0]?.value ?? "", label: title }))}
        value={kind.ways[0]?.value ?? ""}
        onChange={choose}
      />
      {kind.ways.length > 1 && (
        <SegmentedControl
          aria-label={kind.title}
          mt="xs"
          size="xs"
          data={kind.ways.map(({ value, label }) => ({ value, label }))}
          value={way}
          onChange={choose}
        />
      )}
      <Text size="xs" c="dimmed" mt={4}>
        <FieldHelp of="WorkloadUpdate" field="executor_type">
          {TEXTS[way]}
        </FieldHelp>
      </Text>
    </div>
  );
}

interface CreateFormProps {
  way: Way;
  onWay: (way: Way) => void;
  onClose: () => void;
}

function CreateForm({ way, onWay, onClose }: CreateFormProps) {
  const [, navigate] = useLocation();
  const [more, { toggle, open: openMore }] = useDisclosure(false);
  const main = ({ path }: Field) => MAIN[way].some((own) => own === path);
  const { form, saving, props } = useApiForm({
    initial: draftFor(way),
    rules: RULES,
    bodyOf: (draft) => readCreate(draft).body,
    check: (draft) => readCreate(draft).faults,
    send: (json) => call("POST /api/v1/workloads", { json: asWritten(json) }),
    done: ({ slug: made }) => `Workload ${made} was created`,
    failed: "The workload was not created",
    onDone: ({ slug: made }) => navigate(workloadHref(made, { tab: "submit" })),
    // No field stays hidden that has to be corrected.
    onRefused: (paths) => {
      const seen: readonly string[] = ["slug", "executor_config.plugin", ...MAIN[way]];
      if (paths.some((path) => !seen.includes(path))) openMore();
    },
  });
  const test = useTestRun((task) => {
    const { executor_type, executor_config, host_affinity } = readCreate(form.values).body;
    return call("POST /api/v1/workloads/check", {
      timeout_ms: CHECK_CALL_MS,
      json: asWritten({ executor_type, executor_config, host_affinity, task }),
    });
  });
  const begin = (to: Way) => {
    const { slug, name } = form.values;
    form.setValues({ ...draftFor(to), slug, name });
    test.check.reset();
    onWay(to);
  };
  return (
    <form {...props}>
      <Stack>
        <TextInput
          label="Slug"
          description={
            <FieldHelp of="WorkloadUpdate" field="slug">
              Its name in addresses and commands; it cannot be changed later
            </FieldHelp>
          }
          placeholder="thumbnails"
          data-autofocus
          {...form.getInputProps("slug")}
        />
        <WayFields way={way} onWay={begin} />
        {way === "plugin" && <PluginField form={form} />}
        <WorkloadForm
          key={way}
          kind="create"
          form={form}
          error={saving.error}
          sections={["Executor"]}
          where={main}
        />
        <TestPanel state={test} />
        <Button variant="subtle" size="xs" onClick={toggle} aria-expanded={more}>
          {more ? "Fewer settings" : "Every other setting"}
        </Button>
        <Collapse expanded={more}>
          <WorkloadForm kind="create" form={form} error={null} where={(field) => !main(field)} />
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

/** `type` "" is closed: the address says which way it began with. */
export function CreateDialog({ type, onType }: { type: string; onType: (type: string) => void }) {
  const close = () => onType("");
  return (
    <Modal opened={type !== ""} onClose={close} title="Create a workload" size="xl">
      {type !== "" && (
        <CreateForm way={isWay(type) ? type : "python_module"} onWay={onType} onClose={close} />
      )}
    </Modal>
  );
}
