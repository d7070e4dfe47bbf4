import { useTranslation } from "react-i18next";
import { visible } from "../../../markdown/links.ts";
import { Button } from "../../../parts/button.tsx";
import { Dialog } from "../../../parts/dialog.tsx";
import type { Call } from "../../../thread/items.ts";
import { useOpenThread } from "../thread-context.tsx";
import { RunToolForm } from "./run-tool-form.tsx";

/** A call of a tool once more, by hand, with the same arguments or others: what it would do is shown before. */
export function RunToolDialog({ call, parameters, onClose }: { call: Call; parameters: unknown; onClose: () => void }) {
  const { t } = useTranslation();
  const thread = useOpenThread();
  return (
    <Dialog title={t("tool.again", { tool: visible(call.name) })} onClose={onClose} size="wide">
      <div className="dialog-body">
        <p className="hint">{t("tool.againHint")}</p>
        <RunToolForm
          threadId={thread.id}
          tool={call.name}
          first={call.args ?? {}}
          parameters={parameters}
          action={t("tool.run")}
          onRan={() => void thread.sync()}
        >
          <Button kind="quiet" onClick={onClose}>
            {t("app.close")}
          </Button>
        </RunToolForm>
      </div>
    </Dialog>
  );
}
