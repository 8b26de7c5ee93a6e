"""What becomes of the names of scipy.special that have no rule."""

MODULES = ("scipy.special",)

TRACED = {
    "assoc_laguerre comb perm factorial diric h1vp h2vp ivp jvp kvp yvp lambertw softplus zeta",
    "spherical_in spherical_jn spherical_kn spherical_yn",
    "jacobi sh_jacobi legendre sh_legendre laguerre genlaguerre gegenbauer hermite hermitenorm",
    "chebyc chebys chebyt chebyu sh_chebyt sh_chebyu",
}

CONSTANT = {
    "SpecialFunctionWarning errstate geterr seterr test": "settings and information about SciPy",
    "bernoulli euler stirling2 factorial2 factorialk": "made from integers",
    "ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros": "zeros, counted from the first",
    "kei_zeros keip_zeros kelvin_zeros ker_zeros kerp_zeros": "zeros, counted from the first",
    "jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros yn_zeros ynp_zeros y0_zeros y1_zeros y1p_zeros": (
        "zeros, counted from the first"
    ),
    "erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros": "zeros, counted from the first",
    "h_roots he_roots l_roots p_roots ps_roots s_roots c_roots t_roots ts_roots u_roots us_roots": (
        "nodes and weights for an integer order"
    ),
    "roots_chebyc roots_chebys roots_chebyt roots_chebyu roots_hermite roots_hermitenorm roots_laguerre": (
        "nodes and weights for an integer order"
    ),
    "roots_legendre roots_sh_chebyt roots_sh_chebyu roots_sh_legendre": "nodes and weights for an integer order",
}

REFUSED = {
    "cg_roots roots_gegenbauer j_roots roots_jacobi js_roots roots_sh_jacobi la_roots roots_genlaguerre": (
        "nodes and weights that depend on a parameter"
    ),
    "assoc_legendre_p_all legendre_p_all sph_legendre_p_all sph_harm_y_all": (
        "all orders at once: use the function of one order"
    ),
    "lqmn lmbda riccati_jn riccati_yn pbdn_seq pbdv_seq pbvv_seq": "C code computes a sequence",
    "ellip_harm ellip_harm_2 ellip_normal": "SciPy has no derivative of Lamé functions",
    "mathieu_even_coef mathieu_odd_coef obl_cv_seq pro_cv_seq": "C code computes coefficients and values",
}
