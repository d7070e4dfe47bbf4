import { useState } from "react";
import { useTranslation } from "react-i18next";
import { createThread, queryClient, useThreads } from "../../api/threads.ts";
import { threadAddress } from "../../app/addresses.ts";
import { Button } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { manage } from "../../text/manage/words.ts";
import { RunToolForm } from "../chat/tools/run-tool-form.tsx";
import { PlaceLink } from "../place-link.tsx";
import { ThreadChoice } from "../thread-choice.tsx";
import { argumentsOf } from "./arguments.ts";

/** The arguments with which it begins. */
const nothing = {};

/** A call of the tool by hand, in one of the chats: its rules hold, and its changes can be undone there. */
export function TryTool({ tool, parameters }: { tool: string; parameters: unknown }) {
  const { t } = useTranslation(manage);
  const newest = useThreads({ archived: false, graph_id: "agent" }).data?.pages[0]?.threads[0]?.thread_id;
  const [chosen, setChosen] = useState<{ id: string | undefined }>();
  const [isBusy, setBusy] = useState(false);
  // It stays that one: when another chat becomes the newest, what is written here is not for it.
  if (chosen === undefined && newest !== undefined) setChosen({ id: newest });
  const threadId = chosen?.id;
  const begin = async () => {
    setBusy(true);
    try {
      setChosen({ id: await createThread() });
      await queryClient.invalidateQueries({ queryKey: ["threads"] });
    } catch (error) {
      notifyError(error);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section className="prompt-part" aria-label={t("tools.try")}>
      <div className="row-between">
        <h2>{t("tools.try")}</h2>
        <ThreadChoice
          label={t("tools.tryIn")}
          none={t("tools.newChat")}
          threadId={threadId}
          graph="agent"
          onThread={(id) => setChosen({ id })}
        />
      </div>
      <p className="hint">
        {t("tools.tryHint")}
        {threadId !== undefined && <PlaceLink address={threadAddress(threadId)}>{t("files.toChat")}</PlaceLink>}
      </p>
      {threadId === undefined ? (
        <div>
          <Button size="small" disabled={isBusy} onClick={() => void begin()}>
            {t("tools.begin")}
          </Button>
        </div>
      ) : (
        <RunToolForm
          key={threadId}
          threadId={threadId}
          tool={tool}
          first={nothing}
          isComplete={!argumentsOf(parameters).some(({ isRequired }) => isRequired)}
          parameters={parameters}
          action={t("tools.run")}
          onRan={() => {
            for (const key of ["tools", "tool-calls"]) void queryClient.invalidateQueries({ queryKey: [key] });
          }}
        />
      )}
    </section>
  );
}
