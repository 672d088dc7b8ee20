import { Button, Code, Group, SegmentedControl, Text } from "@mantine/core";
import { IconLock, IconPlayerPlay, IconPlayerStop } from "@tabler/icons-react";
import { useState } from "react";
import type { Session } from "#shared/protocol/schema/session.ts";
import { Copy } from "../../../parts/copy.tsx";
import type { ChosenStep, Written } from "../recorded/chosen.ts";
import { toPlaywright } from "../recorded/to-playwright.ts";
import { toPython } from "../recorded/to-python.ts";
import { toRecipe } from "../recorded/to-recipe.ts";
import { toScript } from "../recorded/to-script.ts";
import type { Picker } from "../stage/use-picker.ts";
import { SaveDialog, type SavedAs } from "./save-dialog.tsx";
import { StepRow } from "./step-row.tsx";
import type { Recorded } from "./use-recorded.ts";
import { useReplay } from "./use-replay.ts";

interface StepsPanelProps {
  session: Session;
  recorded: Recorded;
  picker: Picker;
  /** Begins to record, with keyboard and mouse in this page. */
  onRecord(): void;
}

interface Form {
  label: string;
  write(steps: readonly ChosenStep[]): Written<unknown>;
  saved_as: readonly SavedAs[];
}

const FORMS = {
  recipe: { label: "Recipe", write: toRecipe, saved_as: ["recipe", "login"] },
  script: { label: "Script", write: toScript, saved_as: ["skill", "job"] },
  python: { label: "Python", write: toPython, saved_as: [] },
  playwright: { label: "Playwright", write: toPlaywright, saved_as: [] },
} as const satisfies Record<string, Form>;
type FormName = keyof typeof FORMS;

interface Edit {
  selector?: string;
  removed?: true;
}

/** The recorded steps as somebody has changed them here. */
function useEdited(recorded: Recorded) {
  const [edits, setEdits] = useState<Record<number, Edit>>({});
  const steps: ChosenStep[] = (recorded.state?.steps ?? []).flatMap((step) => {
    const { removed, selector } = edits[step.id] ?? {};
    if (removed) return [];
    return [selector === undefined ? step : { ...step, selector }];
  });
  return {
    steps,
    edit: (id: number, edit: Edit) =>
      setEdits((all) => ({ ...all, [id]: { ...all[id], ...edit } })),
    reset: () => setEdits({}),
  };
}

const codeOf = (body: unknown): string =>
  typeof body === "string" ? body : JSON.stringify(body, null, 2);

/** What people did, step by step: chosen, tried, and saved. */
export function StepsPanel({ session, recorded, picker, onRecord }: StepsPanelProps) {
  const { steps, edit, reset } = useEdited(recorded);
  const replay = useReplay(session);
  const [form, setForm] = useState<FormName>("recipe");
  const [saving, setSaving] = useState(false);
  const [shows_code, setShowsCode] = useState(false);
  const { state, record } = recorded;
  const on = state?.on ?? false;
  const first_tab = state?.steps[0]?.tab ?? 0;
  const { write, saved_as, label } = FORMS[form];
  const written: Written<unknown> | null = steps.length > 0 ? write(steps) : null;
  return (
    <>
      <Group gap={8} className="steps-buttons">
        <Button
          size="xs"
          variant={on ? "default" : "filled"}
          loading={record.isPending}
          leftSection={<i className="record-mark" data-on={on || undefined} aria-hidden />}
          onClick={() => {
            if (on) return record.mutate(false);
            reset();
            onRecord();
          }}
        >
          {on ? "Stop recording" : "Record my clicks"}
        </Button>
        <Button
          size="xs"
          variant="default"
          aria-pressed={picker.on}
          onClick={picker.on ? picker.stop : picker.start}
        >
          {picker.on ? "Stop picking" : "Pick an element"}
        </Button>
      </Group>
      {state?.ended && (
        <Text size="xs" className="steps-note" role="status">
          The recording has ended: {state.ended}.
        </Text>
      )}
      {state?.full && (
        <Text size="xs" className="steps-note" role="status">
          The recording is full: further steps are left out.
        </Text>
      )}
      {steps.length === 0 ? (
        <Text size="sm" className="steps-note">
          {on
            ? "Click and type on the page: every step appears here."
            : "Record what you do on the page, then repeat it as a recipe, a script or a skill."}
        </Text>
      ) : (
        <ol className="steps" aria-label="Recorded steps">
          {steps.map((step, i) => (
            <StepRow
              key={step.id}
              step={step}
              number={i + 1}
              result={replay.resultOf(step)}
              busy={replay.busy}
              onRun={() => void replay.runOne(step, first_tab)}
              onRemove={() => edit(step.id, { removed: true })}
              onChoose={(selector) => {
                edit(step.id, { selector });
                void picker.find(selector, "frame" in step ? step.frame : []);
              }}
            />
          ))}
        </ol>
      )}
      <Text size="xs" className="steps-note">
        <IconLock size={14} aria-hidden /> Passwords and codes are never stored. They become
        placeholders.
      </Text>
      {written && (
        <div className="steps-save">
          <SegmentedControl
            size="xs"
            fullWidth
            aria-label="Written as"
            value={form}
            onChange={(value) => setForm(value as FormName)}
            data={Object.entries(FORMS).map(([value, one]) => ({ value, label: one.label }))}
          />
          {written.notes.map((note) => (
            <Text key={note} size="xs" className="steps-warn">
              {note}
            </Text>
          ))}
          {(shows_code || saved_as.length === 0) && (
            <div className="steps-code">
              <Code block tabIndex={0}>
                {codeOf(written.body)}
              </Code>
              <Copy text={codeOf(written.body)} label={`Copy the ${label.toLowerCase()}`} />
            </div>
          )}
          {saved_as.length > 0 && (
            <Button
              size="compact-xs"
              variant="subtle"
              aria-pressed={shows_code}
              onClick={() => setShowsCode(!shows_code)}
            >
              {shows_code ? "Hide the code" : "Show the code"}
            </Button>
          )}
          <Group gap={8} grow>
            {replay.busy ? (
              <Button
                size="xs"
                variant="default"
                leftSection={<IconPlayerStop size={14} />}
                onClick={replay.stop}
              >
                Stop
              </Button>
            ) : (
              <Button
                size="xs"
                variant="default"
                leftSection={<IconPlayerPlay size={14} />}
                onClick={() => void replay.runAll(steps)}
              >
                Try from step 1
              </Button>
            )}
            {saved_as.length > 0 && (
              <Button size="xs" variant={on ? "default" : "filled"} onClick={() => setSaving(true)}>
                Save {label.toLowerCase()}
              </Button>
            )}
          </Group>
        </div>
      )}
      {saving && (
        <SaveDialog
          steps={steps}
          as={saved_as}
          url={session.url}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}
