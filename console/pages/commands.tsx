import { CopyButton } from "../markdown/code.tsx";
import { visible } from "../markdown/links.ts";

/** Commands to copy, each with what it does. */
export function Commands({
  commands,
}: {
  commands: readonly {
    command: string;
    about: string;
    /** What the button that copies it is called. */
    label: string;
  }[];
}) {
  return (
    <ul className="steps">
      {commands.map(({ command, about, label }) => (
        <li key={command} className="step step-head">
          <span>
            <code>{visible(command)}</code>
            <small> {visible(about)}</small>
          </span>
          <span className="space" />
          <CopyButton text={command} label={label} className="icon-button" />
        </li>
      ))}
    </ul>
  );
}
