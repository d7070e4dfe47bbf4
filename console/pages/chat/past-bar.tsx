import History from "icon:history";
import { useTranslation } from "react-i18next";
import { useLocation } from "wouter";
import { chooseBranch } from "../../api/branches.ts";
import { usePlaces } from "../../api/runs/states.ts";
import { forkThread } from "../../api/threads.ts";
import { pastAddress, threadAddress } from "../../app/addresses.ts";
import { visible } from "../../markdown/links.ts";
import { Button } from "../../parts/button.tsx";
import { notifyError } from "../../parts/toast.tsx";
import { work } from "../../text/inspector/work.ts";
import { shortMoment } from "../../text/time.ts";
import { CheckpointMoves, nameOf, useCheckpoints } from "../run/state/checkpoints.tsx";
import { useOpenThread } from "./thread-context.tsx";

/** As of when a conversation is shown, the way to its other states, and how one goes on from there. */
export function PastBar({ name, checkpoint }: { name: string; checkpoint: string }) {
  const { t } = useTranslation(work);
  const { id } = useOpenThread();
  const [, navigate] = useLocation();
  const named = checkpoint === "" ? undefined : checkpoint;
  const checkpoints = useCheckpoints(usePlaces(id), named, (to) => navigate(pastAddress(id, to), { replace: true }));
  const { own, at } = checkpoints;
  const found = checkpoints.shown?.checkpoint.checkpoint_id ?? "";
  // The address may name one that is not there.
  const chosen = named === undefined || named === found ? found : "";
  const shown = chosen === "" ? undefined : checkpoints.shown;
  const goOn = async (makeThread: () => Promise<string>) => {
    try {
      const thread = await makeThread();
      await chooseBranch(thread, chosen);
      navigate(threadAddress(thread));
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <header className="title-bar past-bar">
      <History size={18} />
      <h1 className="title-name">
        <span className="visually-hidden">{visible(name)} </span>
        {shown && t("run.asOf", { time: shortMoment(Date.parse(shown.created_at ?? "")), step: nameOf(shown, t) })}
      </h1>
      <span className="past-moves">
        <input
          type="range"
          aria-label={t("run.checkpoints")}
          aria-valuetext={shown && nameOf(shown, t)}
          min={0}
          max={Math.max(0, own.length - 1)}
          value={Math.max(0, at)}
          onChange={({ target }) => checkpoints.step(Number(target.value) - at)()}
        />
        <CheckpointMoves checkpoints={checkpoints} />
      </span>
      <Button size="small" disabled={chosen === ""} onClick={() => goOn(() => forkThread(id))}>
        {t("run.copyHere")}
      </Button>
      <Button size="small" disabled={chosen === "" || at === own.length - 1} onClick={() => goOn(async () => id)}>
        {t("run.goOnHere")}
      </Button>
      <Button size="small" kind="primary" onClick={() => navigate(threadAddress(id))}>
        {t("run.now")}
      </Button>
    </header>
  );
}
