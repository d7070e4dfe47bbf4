import { useState, type ReactNode } from "react";
import { ApiError } from "../../../api/client.ts";
import { planUndo, type UndoPlan } from "../../../api/operations.ts";
import { useOpenThread } from "../thread-context.tsx";
import { ConfirmUndo } from "./confirm-undo.tsx";

interface Asked {
  plan: UndoPlan;
  answer: (proceed: boolean) => void;
}

/**
 * Before something is said anew: where files were changed since a message, a person decides whether they stay as they are or
 * are put back. `decide` gives false where nothing is to be said anew after all.
 */
export function useKeepOrUndo(): { decide: (messageId: string) => Promise<boolean>; dialog: ReactNode } {
  const thread = useOpenThread();
  const [asked, setAsked] = useState<Asked>();
  const decide = async (messageId: string): Promise<boolean> => {
    const plan = await changesSince(thread.id, messageId);
    if (plan === undefined || plan.operations.length === 0) return true;
    return new Promise((resolve) => {
      const answer = (proceed: boolean) => {
        setAsked(undefined);
        resolve(proceed);
      };
      setAsked({ plan, answer });
    });
  };
  const dialog = asked && (
    <ConfirmUndo
      operations={asked.plan.operations}
      found={asked.plan.conflicts}
      onClose={() => asked.answer(false)}
      before={asked.answer}
    />
  );
  return { decide, dialog };
}

/** What could be put back; a message that the server does not find has changed nothing, and what is done with it says so. */
async function changesSince(threadId: string, messageId: string): Promise<UndoPlan | undefined> {
  try {
    return await planUndo(threadId, { since_message: messageId });
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}
