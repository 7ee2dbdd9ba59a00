# Runs bgms on one table, and writes the draws of all runs: examples/peers/README.md.
#
#   Rscript examples/peers/bgms.R TABLES NAME ANSWERS DRAWS WARMUP RUNS OUT
#
# TABLES: folder of NAME.csv, whose first ANSWERS columns are answers and whose others are measurements.
library(bgms)

arguments <- commandArgs(trailingOnly = TRUE)
name <- arguments[2]
numbers <- as.integer(arguments[3:6])
out <- arguments[7]
x <- as.matrix(read.csv(file.path(arguments[1], paste0(name, ".csv")), check.names = FALSE))
kinds <- c(rep("ordinal", numbers[1]), rep("continuous", ncol(x) - numbers[1]))
wide <- normal_prior(10)  # nearly flat, of thresholds and of means

dir.create(out, showWarnings = FALSE, recursive = TRUE)
seconds <- c()
for (run in seq_len(numbers[4])) {
  before <- sum(proc.time()[c(1, 2, 4, 5)])
  fit <- bgm(
    x, variable_type = kinds, iter = numbers[2], warmup = numbers[3], delta = 0, chains = 2, cores = 1,
    interaction_prior = cauchy_prior(1), precision_scale_prior = gamma_prior(1, 1),
    threshold_prior = wide, means_prior = wide, edge_prior = bernoulli_prior(0.5),
    seed = run, display_progress = "none", verbose = FALSE
  )
  seconds <- c(seconds, sum(proc.time()[c(1, 2, 4, 5)]) - before)
  raw <- fit$raw_samples
  for (chain in 1:2) {
    draws <- raw$pairwise[[chain]] * raw$indicator[[chain]]
    colnames(draws) <- raw$parameter_names$pairwise
    write.csv(signif(draws, 6), file.path(out, sprintf("%s_%d_%d.csv", name, run, chain)), row.names = FALSE)
  }
}
settings <- list(
  program = paste0("bgms ", packageVersion("bgms"), ", R ", getRversion()),
  draws = numbers[2], warmup = numbers[3], seconds = seconds
)
jsonlite::write_json(settings, file.path(out, paste0(name, "_settings.json")), auto_unbox = TRUE, digits = NA)
