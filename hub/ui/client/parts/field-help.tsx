import { VisuallyHidden } from "@mantine/core";
import type { ReactNode } from "react";
import { type HelpedBody, headingOf } from "../forms/guide-headings.ts";

interface FieldHelpProps {
  /** The body that the field is of, and where it is in it. */
  of: HelpedBody;
  field: string;
  /** What it does, in short. */
  children?: ReactNode;
}

/** What a field does, and a link to what the guide says about it: the description of a control. */
export function FieldHelp({ of, field, children }: FieldHelpProps) {
  const heading = headingOf(of, field);
  return (
    <>
      {children}{" "}
      <a
        href={`/guide/${heading}`}
        target="_blank"
        rel="noreferrer"
        className="field-help"
        title="What the guide says about this"
      >
        <span aria-hidden>?</span>
        <VisuallyHidden>Help: {heading.split("#")[1]?.replaceAll("-", " ")}</VisuallyHidden>
      </a>
    </>
  );
}
