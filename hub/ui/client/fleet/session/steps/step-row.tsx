import { ActionIcon, Text, Tooltip, UnstyledButton } from "@mantine/core";
import { IconLock, IconPlayerPlay, IconX } from "@tabler/icons-react";
import { durationText } from "../../../lib/units.ts";
import { type ChosenStep, selectorOf } from "../recorded/chosen.ts";
import type { StepResult } from "./run-steps.ts";
import { enteredBy, KIND_WORDS, objectOf, verbOf } from "./step-words.ts";

interface StepRowProps {
  step: ChosenStep;
  number: number;
  result: StepResult | null;
  busy: boolean;
  onRun(): void;
  onRemove(): void;
  /** Uses another selector, and frames what it names. */
  onChoose(selector: string): void;
}

const RESULT = { running: "Running", ok: "Done", failed: "Failed", skipped: "Left out" } as const;

function Result({ state, ms, error }: StepResult) {
  return (
    <div className="step-result" data-state={state} role={error ? "alert" : undefined}>
      {RESULT[state]}
      {ms !== null && ` · ${durationText(ms)}`}
      {error !== null && <span className="wrap">: {error}</span>}
    </div>
  );
}

/** One step: what it does, to what, with what, and how its element is found. */
export function StepRow({ step, number, result, busy, onRun, onRemove, onChoose }: StepRowProps) {
  const { verb, icon: What } = verbOf(step);
  const entered = enteredBy(step);
  const selectors = "selectors" in step ? step.selectors : [];
  const chosen = selectorOf(step);
  const matches = selectors.find(({ selector }) => selector === chosen)?.matches;
  const secret = step.kind === "fill" ? step.secret : null;
  return (
    <li className="step-row" data-state={result?.state}>
      <span className="step-number">{number}</span>
      <div className="step-body">
        <div className="step-line">
          <What size={16} stroke={1.75} aria-hidden />
          <span className="step-words" title={objectOf(step)}>
            <b>{verb}</b> {objectOf(step)}
          </span>
          <Tooltip label="Run this step">
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              disabled={busy}
              aria-label={`Run step ${number}`}
              onClick={onRun}
            >
              <IconPlayerPlay size={14} />
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Leave it out">
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label={`Remove step ${number}`}
              onClick={onRemove}
            >
              <IconX size={14} />
            </ActionIcon>
          </Tooltip>
        </div>
        {chosen !== "" && (
          <Text className="step-selector" title={chosen}>
            {chosen}
            {matches !== undefined && matches !== 1 && <b> · {matches} matches</b>}
          </Text>
        )}
        {entered !== null && (
          <span className="step-value">
            {secret && <IconLock size={12} aria-hidden />}
            {entered}
          </span>
        )}
        {selectors.length > 1 && (
          <fieldset className="step-ways" aria-label={`Selector of step ${number}`}>
            {selectors.map(({ by, selector, matches: count }) => (
              <UnstyledButton
                key={selector}
                className="step-way"
                aria-pressed={selector === chosen}
                title={`${selector} · ${count === 1 ? "1 match" : `${count} matches`}`}
                onClick={() => onChoose(selector)}
              >
                {KIND_WORDS[by]}
              </UnstyledButton>
            ))}
          </fieldset>
        )}
        {result && <Result {...result} />}
      </div>
    </li>
  );
}
