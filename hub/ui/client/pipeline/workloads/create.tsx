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
import { type FormEvent, useState } from "react";
import { useLocation } from "wouter";
import type { ExecutorType, Workload } from "#shared/protocol/schema/workload.ts";
import { call, seg } from "../../lib/http.ts";
import { useChange } from "../../lib/query.ts";
import { issueAt } from "../../parts/form-errors.tsx";
import { bodyOf, DEFAULTS, type Draft, draftOf } from "../workload/form/draft.ts";
import { WorkloadForm } from "../workload/form/workload-form.tsx";
import { EXAMPLES } from "./examples.ts";

const TYPES = Object.keys(EXAMPLES) as ExecutorType[];
const SLUG = /^[a-z0-9][a-z0-9_-]{0,62}$/;

const isType = (text: string): text is ExecutorType => text in EXAMPLES;

const exampleDraft = (type: ExecutorType): Draft =>
  draftOf({ ...DEFAULTS, name: "-", executor_type: type, executor_config: EXAMPLES[type].config });

interface CreateFormProps {
  type: ExecutorType;
  onType: (type: ExecutorType) => void;
  onClose: () => void;
}

function CreateForm({ type, onType, onClose }: CreateFormProps) {
  const [, navigate] = useLocation();
  const [slug, setSlug] = useState("");
  const [draft, setDraft] = useState(() => exampleDraft(type));
  const [tried, setTried] = useState(false);
  const [more, { toggle }] = useDisclosure(false);
  const { body, errors } = bodyOf(draft);
  const slugError = SLUG.test(slug)
    ? undefined
    : "1 to 63 of a-z, 0-9, hyphen and underscore, beginning with a letter or digit";
  const create = useChange(
    () =>
      call<Workload>("POST", "/api/v1/workloads", {
        json: { ...body, slug, name: draft.name === "-" ? undefined : body.name },
      }),
    {
      done: ({ slug: made }) => `Workload ${made} was created`,
      failed: "The workload was not created",
      quiet: true,
      onDone: ({ slug: made }) => navigate(`/ui/workloads/${seg(made)}?tab=submit`),
    },
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (slugError === undefined && Object.keys(errors).length === 0) create.mutate(undefined);
  };
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <TextInput
          label="Slug"
          description="Its name in addresses and commands; it cannot be changed later"
          placeholder="thumbnails"
          value={slug}
          error={(tried && slugError) || issueAt(create.error, "slug")}
          onChange={(event) => setSlug(event.currentTarget.value)}
          data-autofocus
        />
        <div>
          <Text size="sm" fw={500} id="example">
            Begin with an example
          </Text>
          <SegmentedControl
            aria-labelledby="example"
            fullWidth
            className="executor-types"
            data={TYPES.map((value) => ({ value, label: value.replace("_", " ") }))}
            value={type}
            onChange={(value) => {
              if (!isType(value)) return;
              setDraft(exampleDraft(value));
              onType(value);
            }}
          />
          <Text size="xs" c="dimmed" mt={4}>
            {EXAMPLES[type].text}
          </Text>
        </div>
        <WorkloadForm
          draft={draft}
          onChange={(next) => {
            setDraft(next);
            const chosen = String(next.executor_type);
            if (chosen !== type && isType(chosen)) onType(chosen);
          }}
          errors={tried ? errors : {}}
          error={create.error}
          sections={["Executor"]}
        />
        <Button variant="subtle" size="xs" onClick={toggle} aria-expanded={more}>
          {more ? "Fewer settings" : "Every other setting"}
        </Button>
        <Collapse expanded={more}>
          <WorkloadForm
            draft={draft}
            onChange={setDraft}
            errors={tried ? errors : {}}
            error={null}
            sections={["General", "Running", "Retries", "Schedule"]}
          />
        </Collapse>
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            Not now
          </Button>
          <Button type="submit" loading={create.isPending}>
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
