"""What becomes of the names of scipy.stats that have no rule."""

MODULES = ("scipy.stats",)

TRACED = {
    "alpha anglit arcsine argus beta betaprime bradford burr burr12 cauchy chi chi2 cosine crystalball dgamma",
    "dpareto_lognorm dweibull erlang expon exponnorm exponpow exponweib f fatiguelife fisk foldcauchy foldnorm",
    "gamma gausshyper genexpon genextreme gengamma genhalflogistic genhyperbolic geninvgauss genlogistic gennorm",
    "genpareto gibrat gompertz gumbel_l gumbel_r halfcauchy halfgennorm halflogistic halfnorm hypsecant invgamma",
    "invgauss invweibull irwinhall jf_skew_t johnsonsb johnsonsu kappa3 kappa4 ksone kstwo kstwobign landau laplace",
    "laplace_asymmetric levy levy_l loggamma logistic loglaplace lognorm loguniform lomax maxwell",
    "mielke moyal nakagami ncf nct ncx2 norm norminvgauss pareto pearson3 powerlaw powerlognorm powernorm rayleigh",
    "rdist recipinvgauss reciprocal rel_breitwigner rice semicircular skewcauchy skewnorm studentized_range t",
    "trapezoid trapz triang truncexpon truncnorm truncpareto truncweibull_min tukeylambda uniform vonmises",
    "vonmises_line wald weibull_max weibull_min wrapcauchy bernoulli betabinom betanbinom binom boltzmann dlaplace",
    "geom logser nbinom nchypergeom_fisher planck poisson poisson_binom skellam yulesimon zipf zipfian dirichlet",
    "dirichlet_multinomial invwishart matrix_normal matrix_t multinomial multivariate_normal multivariate_t",
    "normal_inverse_gamma vonmises_fisher wishart Covariance Binomial Logistic Mixture Normal Uniform",
    "make_distribution order_statistic truncate abs exp log rv_continuous rv_discrete rv_histogram gaussian_kde",
    "alexandergovern anderson bartlett bayes_mvs boxcox boxcox_llf boxcox_normplot chisquare circmean circstd",
    "circvar combine_pvalues cramervonmises cramervonmises_2samp describe differential_entropy directional_stats",
    "energy_distance entropy expectile f_oneway false_discovery_control gmean gstd gzscore hmean iqr jarque_bera",
    "kstat kstatvar kurtosis kurtosistest levene linregress lmoment median_abs_deviation moment mvsdist normaltest",
    "obrientransform pearsonr pmean pointbiserialr power_divergence ppcc_plot probplot quantile scoreatpercentile",
    "sem shapiro siegelslopes sigmaclip skew skewtest theilslopes tmax tmean tmin trim1 trim_mean trimboth tsem",
    "tstd ttest_1samp ttest_ind ttest_ind_from_stats ttest_rel tukey_hsd tvar variation wasserstein_distance",
    "yeojohnson yeojohnson_llf yeojohnson_normplot zmap zscore ks_1samp kstest mode",
    "chi2_contingency epps_singleton_2samp poisson_means_test",
    "bootstrap goodness_of_fit monte_carlo_test permutation_test power boxcox_normmax yeojohnson_normmax ppcc_max",
}

CONSTANT = {
    "binned_statistic_2d binned_statistic_dd binned_statistic": "the bin of a number",
    "BootstrapMethod CensoredData MonteCarloMethod PermutationMethod CovViaPrecision": "options of other functions",
    "hypergeom nhypergeom randint multivariate_hypergeom": "all parameters are integers",
    "ansari barnard_exact boschloo_exact brunnermunzel bws_test chatterjeexi cumfreq ecdf estimated_cdf fisher_exact": (
        "made from ranks and counts, which change in jumps"
    ),
    "fligner friedmanchisquare kendalltau kruskal ks_2samp logrank mannwhitneyu median_test mood page_trend_test": (
        "made from ranks and counts, which change in jumps"
    ),
    "percentileofscore quantile_test rankdata ranksums relfreq somersd spearmanr spearmanrho tiecorrect weightedtau": (
        "made from ranks and counts, which change in jumps"
    ),
    "wilcoxon anderson_ksamp binomtest": "made from ranks and counts, which change in jumps",
    "ConstantInputWarning DegenerateDataWarning NearConstantInputWarning": "warnings",
    "ortho_group special_ortho_group random_correlation random_table uniform_direction unitary_group": (
        "draws with integer parameters"
    ),
}

REFUSED = {
    "fit sobol_indices": "searches, and draws that decide branches",
    "nchypergeom_wallenius": "C++ computes it",
    "levy_stable": "structured arrays of parameters",
    "dunnett multiscale_graphcorr wasserstein_distance_nd": "some of its steps are not traced",
}
