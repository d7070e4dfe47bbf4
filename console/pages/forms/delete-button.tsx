import { useState } from "react";
import { Button } from "../../parts/button.tsx";
import { Confirm } from "../../parts/confirm.tsx";

/** A button that asks before it does something that has no way back. */
export function DeleteButton({
  label,
  title = label,
  hint,
  disabled = false,
  run,
}: {
  /** What the button is called, here and in the question. */
  label: string;
  title?: string;
  hint: string;
  disabled?: boolean;
  run: () => Promise<void>;
}) {
  const [isAsked, setAsked] = useState(false);
  return (
    <>
      <Button size="small" kind="quiet" disabled={disabled} onClick={() => setAsked(true)}>
        {label}
      </Button>
      {isAsked && <Confirm title={title} hint={hint} action={label} run={run} onClose={() => setAsked(false)} />}
    </>
  );
}
