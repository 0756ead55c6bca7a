// The views, in the order of the menu. To add one: write views/<name>.ts that exports `view`, and name it here.

import { view as ask } from "./views/ask.ts";
import { view as classify } from "./views/classify.ts";
import { view as compare } from "./views/compare.ts";
import { view as learn } from "./views/learn.ts";
import { view as mechanisms } from "./views/mechanisms.ts";
import { view as read } from "./views/read.ts";
import { view as steps } from "./views/steps.ts";
import { view as translate } from "./views/translate.ts";
import { view as whatIf } from "./views/whatif.ts";
import type { View } from "./view.ts";

export const VIEWS: View[] = [translate, read, classify, ask, steps, whatIf, compare, learn, mechanisms];
