# A scripted reviewer that knows the hidden tests, and says the opposite of what they say once in ten times.
cat > /dev/null
verdict=reject
sh "$BENCH_HIDDEN/$RALPH_TASK_KEY" > /dev/null 2>&1 && verdict=accept
sum=$(printf %s "$BENCH_SEED $RALPH_TASK_KEY $RALPH_ATTEMPT" | cksum)
if [ $((${sum%% *} % 10)) = 0 ]; then
    if [ $verdict = accept ]; then verdict=reject; else verdict=accept; fi
fi
echo "<review-finding>lib/$RALPH_TASK_KEY.sh: the answer is wrong for some numbers</review-finding>"
echo "<review-verdict>$verdict</review-verdict>"
