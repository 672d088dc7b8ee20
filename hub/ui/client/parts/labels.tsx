import { Link } from "wouter";
import { labelTexts } from "../forms/labels.ts";

interface LabelLinksProps {
  labels: Readonly<Record<string, string>>;
  /** The list of what has this label, written `key:value`. */
  hrefOf: (label: string) => string;
}

/** The labels of a record, each of which leads to everything that has it; a dash for none. */
export function LabelLinks({ labels, hrefOf }: LabelLinksProps) {
  const texts = labelTexts(labels);
  if (texts.length === 0) return <>–</>;
  return (
    <span className="label-links">
      {texts.map((text) => (
        <Link key={text} href={hrefOf(text)} className="label-link">
          {text}
        </Link>
      ))}
    </span>
  );
}
