import { Alert, Button, Group, SegmentedControl, Stack, Text, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import type { Workload } from "#shared/protocol/schema/workload.ts";
import { workloadTag } from "#shared/protocol/workload-tag.ts";
import { rulesOf } from "../../../forms/rules-macro.ts" with { type: "macro" };
import { asWritten, call } from "../../../lib/http.ts";
import { useChange, useGet } from "../../../lib/query.ts";
import { FormErrors } from "../../../parts/form-errors.tsx";
import { CodeEditor } from "./code-editor.tsx";
import { EXAMPLES, isLanguage, LANGUAGES, Signature } from "./language.tsx";
import type { Language } from "./mount-editor.ts";
import { CHECK_CALL_MS, TestPanel, useTestRun } from "./test-panel.tsx";

const RULES = rulesOf("WorkloadUpdate");

/** Settings with other code: what names its code otherwise gives way. */
function withCode(workload: Workload, language: Language, code: string) {
  const {
    plugin: _p,
    source_path: _s,
    module: _m,
    argv: _a,
    options: _o,
    hub_url: _h,
    code_version: _v,
    ...config
  } = workload.executor_config;
  return { executor_type: language, executor_config: { ...config, code } };
}

interface Start {
  version: number | null;
  language: Language;
  code: string;
}
interface CodeFormProps {
  workload: Workload;
  /** What runs now, or the example where nothing was written here. */
  start: Start;
}

function CodeForm({ workload, start }: CodeFormProps) {
  const { slug } = workload;
  const [base, setBase] = useState(start);
  const [language, setLanguage] = useState(start.language);
  const [code, setCode] = useState(start.code);
  const [note, setNote] = useState("");
  const show = (of: Start) => {
    setBase(of);
    setLanguage(of.language);
    setCode(of.code);
  };
  const changed = code !== base.code || language !== base.language;
  const same = code === start.code && language === start.language;
  const other = base.version !== start.version;
  // Other code was saved: what nobody has changed here is replaced by it, and what was saved here is it.
  useEffect(() => {
    if (other && (!changed || same)) show(start);
  });
  const body = () => withCode(workload, language, code);
  const test = useTestRun((task) =>
    call("POST /api/v1/workloads/check", {
      timeout_ms: CHECK_CALL_MS,
      json: asWritten({ slug, ...body(), host_affinity: workload.host_affinity, task }),
    }),
  );
  const save = useChange(
    () =>
      call("PUT /api/v1/workloads/{slug}", {
        params: { slug },
        json: asWritten({ ...workload, ...body(), version_note: note }),
        headers: { "if-match": workloadTag(workload) },
      }),
    {
      done: (saved) => `Version ${saved.executor_config.code_version} was saved`,
      failed: "The code was not saved",
      quiet: true,
      onDone: (): void => setNote(""),
    },
  );
  return (
    <Stack maw={1100}>
      {base.version === null && (
        <Alert color="blue" role="note">
          The code it runs now was not written here. Saving code here replaces it.
        </Alert>
      )}
      {other && changed && !same && (
        <Alert color="yellow" title="Somebody saved other code in the meantime" role="status">
          <Group>
            <Text size="sm">It is in the tab Versions. Yours replaces it only if you say so.</Text>
            <Button size="xs" variant="default" onClick={() => show(start)}>
              Show their code
            </Button>
            <Button size="xs" variant="default" onClick={() => setBase(start)}>
              Keep mine
            </Button>
          </Group>
        </Alert>
      )}
      <Group justify="space-between">
        <SegmentedControl
          aria-label="Language"
          data={LANGUAGES}
          value={language}
          onChange={(to) => {
            if (!isLanguage(to)) return;
            if (code.trim() === "" || code === EXAMPLES[language]) setCode(EXAMPLES[to]);
            setLanguage(to);
          }}
        />
        <Button variant="subtle" size="xs" onClick={() => setCode(EXAMPLES[language])}>
          Show the example
        </Button>
      </Group>
      <Signature language={language} />
      <CodeEditor
        label="Code"
        language={language}
        value={code}
        onChange={setCode}
        onRun={test.run}
      />
      <TestPanel state={test} verb="Test before saving" />
      <FormErrors error={save.error} title="The code was not saved" fields={[]} />
      <Group align="end">
        <TextInput
          label="What you changed"
          description="For those who read the versions later"
          flex={1}
          maxLength={RULES.version_note.max_length}
          value={note}
          onChange={(event) => setNote(event.currentTarget.value)}
        />
        <Button
          loading={save.isPending}
          disabled={(!changed && base.version !== null) || other}
          onClick={() => save.mutate(undefined)}
        >
          Save as a new version
        </Button>
      </Group>
    </Stack>
  );
}

/** The code of a workload: read, changed, tested on a worker, and saved as its next version. */
export function CodeTab({ workload }: { workload: Workload }) {
  const { slug, executor_type } = workload;
  const version = workload.executor_config.code_version;
  const saved = useGet(
    "/api/v1/workloads/{slug}/versions/{version}",
    { params: { slug, version: version ?? 0 } },
    { enabled: version !== undefined },
  );
  const language = isLanguage(executor_type) ? executor_type : "python_module";
  if (version === undefined)
    return (
      <CodeForm workload={workload} start={{ version: null, language, code: EXAMPLES[language] }} />
    );
  if (!saved.data)
    return saved.error ? (
      <FormErrors error={saved.error} title="Its code could not be read" fields={[]} />
    ) : null;
  const start = {
    version: saved.data.version,
    language: saved.data.executor_type,
    code: saved.data.code,
  };
  return <CodeForm workload={workload} start={start} />;
}
